"""Files of faces: right ones are read, wrong ones are named with what was expected."""

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from tl1pca.datasets import load_digit_images, load_jaffe, load_lfw_subset, load_yale

PEOPLE = ["KA", "KL", "KM", "KR", "MK", "NA", "NM", "TM", "UY", "YM"]
COUNTS = (23, 22, 22, 20, 21, 21, 20, 21, 21, 22)


@pytest.fixture
def yale():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, size=(165, 1024), dtype=np.uint8), np.repeat(np.arange(1, 16), 11)


def test_yale_npz(tmp_path, yale):
    np.savez(tmp_path / "yale_32x32.npz", X=yale[0], y=yale[1])
    X, y = load_yale(tmp_path)
    assert np.array_equal(X, yale[0] / 255.0)
    assert np.array_equal(y, yale[1])


def test_yale_mat_is_turned_upright(tmp_path, yale):
    column_major = yale[0].reshape(-1, 32, 32).transpose(0, 2, 1).reshape(165, -1)
    savemat(tmp_path / "Yale_32x32.mat", {"fea": column_major, "gnd": yale[1][:, None]})
    X, y = load_yale(tmp_path)
    assert np.array_equal(X, yale[0] / 255.0)
    assert np.array_equal(y, yale[1])


def test_jaffe_mat(tmp_path):
    gnd = np.repeat(np.arange(1, 11), COUNTS)
    fea = np.random.default_rng(0).integers(0, 256, size=(213, 1024), dtype=np.uint8)
    savemat(tmp_path / "jaffe_32x32.mat", {"fea": fea, "gnd": gnd})
    X, y = load_jaffe(tmp_path)
    assert X.shape == (213, 1024)
    assert tuple(np.bincount(y)[1:]) == COUNTS


@pytest.fixture
def tiffs(tmp_path):
    folder = tmp_path / "jaffe"
    folder.mkdir()
    for person, (name, count) in enumerate(zip(PEOPLE, COUNTS)):
        for i in range(count):
            pixels = np.full((48, 48), 20 * person + 10, dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{name}.AN{i}.{i}.tiff")
    return folder


def test_jaffe_tiffs(tiffs):
    X, y = load_jaffe(tiffs.parent)
    assert X.shape == (213, 1024)
    assert X[y == 3] == pytest.approx(50 / 255)


def test_a_missing_tiff_is_noticed(tiffs):
    next(tiffs.glob("KR.*")).unlink()
    with pytest.raises(ValueError, match=r"213 images .* found images of shape \(212, 1024\)"):
        load_jaffe(tiffs.parent)


def test_a_broken_tiff_is_named(tiffs):
    next(tiffs.glob("KR.*")).write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"KR\.AN.* is not a readable TIFF"):
        load_jaffe(tiffs.parent)


def write(folder, X, y):
    np.savez(folder / "yale_32x32.npz", X=X, y=y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[:, :100], y), r"165 images of 32 x 32 .* found images of shape \(165, 100\)"),
        (lambda X, y: (X, y[:-1]), r"found labels of shape \(164,\)"),
        (lambda X, y: (X, np.where(y == 2, 1, y)), r"11 11 .* found \{1: 22, 3: 11"),
        (lambda X, y: (X / 255.0, y), r"gray values from 0 to 255 .* found values from 0 to 1"),
        (lambda X, y: (np.where(X == 0, np.nan, X), y), "found values from nan"),
        (lambda X, y: (X.astype(str), y), "type <U3"),
        (lambda X, y: (X.astype(object), y), "cannot be read; expected an .npz"),
    ],
)
def test_wrong_content_says_what_was_expected(tmp_path, yale, change, message):
    write(tmp_path, *change(*yale))
    with pytest.raises(ValueError, match=message):
        load_yale(tmp_path)


@pytest.mark.parametrize("name", ["yale_32x32.npz", "Yale_32x32.mat"])
def test_broken_files_say_what_was_expected(tmp_path, name):
    (tmp_path / name).write_bytes(b"this is not what it says it is" * 20)
    with pytest.raises(ValueError, match=f"{name} cannot be read; expected"):
        load_yale(tmp_path)


def test_missing_arrays_are_named(tmp_path, yale):
    np.savez(tmp_path / "yale_32x32.npz", pixels=yale[0])
    with pytest.raises(ValueError, match="with the arrays X and y"):
        load_yale(tmp_path)


@pytest.mark.parametrize("load", [load_yale, load_jaffe])
def test_absent_files(tmp_path, load):
    with pytest.raises(FileNotFoundError, match="in the data folder"):
        load(tmp_path)


def test_builtin_images():
    X, y = load_digit_images(5)
    assert X.shape == (50, 64)
    assert np.bincount(y).tolist() == [5] * 10
    assert 0 <= X.min() < X.max() <= 1
    pytest.importorskip("skimage")
    X, y = load_lfw_subset()
    assert X.shape == (200, 625)
    assert np.bincount(y).tolist() == [100, 100]
