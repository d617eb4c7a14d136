"""The rules of choice: what they may see, and what they may not."""

import numpy as np
import pandas as pd
import pytest

from tl1pca.experiments.methods import PCA
from tl1pca.experiments.selection import mean_and_error, nested, oracle, other_images, summarize


def frame(rows):
    table = pd.DataFrame(rows, columns=["value", "dimension", "split", "accuracy", "train_accuracy"])
    return table.assign(source="s", noise=0, method="m", seconds=1.0, converged=True)


@pytest.fixture
def conflict():
    """Value 1 is best on the test images, value 2 within the training images."""
    rows = [
        (v, j, s, 0.9 if v == 1 else 0.2, 0.9 if v == 2 else 0.3)
        for v in (1, 2)
        for j in (5, 10)
        for s in (0, 1)
    ]
    return frame(rows)


def test_oracle_reads_the_test_images(conflict):
    choice = oracle(conflict)
    assert (choice.value, choice.dimension) == (1, 5)
    assert choice.accuracy.tolist() == [0.9, 0.9]


def test_nested_does_not(conflict):
    choice = nested(conflict)
    assert (choice.value, choice.dimension) == (2, 5)
    assert choice.accuracy.tolist() == [0.2, 0.2]


def test_nested_choice_is_the_same_whatever_the_test_accuracy(conflict):
    rng = np.random.default_rng(0)
    for _ in range(5):
        shuffled = conflict.assign(accuracy=rng.uniform(size=len(conflict)))
        choice = nested(shuffled)
        picked = shuffled[(shuffled["value"] == 2) & (shuffled["dimension"] == 5)]
        assert choice.accuracy.tolist() == picked.sort_values("split")["accuracy"].tolist()


def test_nested_chooses_in_each_split():
    rows = [(1, 5, 0, 0.1, 0.9), (2, 5, 0, 0.2, 0.1), (1, 5, 1, 0.3, 0.1), (2, 5, 1, 0.4, 0.9)]
    assert nested(frame(rows)).accuracy.tolist() == [0.1, 0.4]


def halved(rows):
    """A table with the hits among ten test images of either half: (value, split, hits_0, hits_1)."""
    table = frame([(v, 5, s, (a + b) / 20, 0.5) for v, s, a, b in rows])
    hits = np.array([row[2:] for row in rows], dtype=float)
    return table.assign(hits_0=hits[:, 0], hits_1=hits[:, 1], images_0=10.0, images_1=10.0)


def test_what_is_read_had_no_say_in_the_choice():
    """Each half of the images prefers another value, so that what is read is the other half's choice."""
    rows = [(1, s, 9, 1) for s in range(3)] + [(2, s, 1, 9) for s in range(3)]
    choice = other_images(halved(rows))
    assert choice.accuracy.tolist() == [0.1] * 3
    assert choice.value == 1
    agreed = [(v, s, v, v + s) for v in (1, 2) for s in range(3)]
    assert other_images(halved(agreed)).accuracy == pytest.approx([0.2, 0.25, 0.3])


def test_other_images_need_images_in_both_halves():
    empty = halved([(1, 0, 5, 0)]).assign(images_1=0.0)
    assert np.isnan(other_images(empty).accuracy).all()


def test_ties_go_to_fewer_components_then_to_the_first_value():
    rows = [(v, j, 0, 0.5, 0.5) for v in (100.0, 1.0) for j in (10, 5)]
    for rule in (oracle, nested):
        choice = rule(frame(rows))
        assert (choice.value, choice.dimension) == (100.0, 5)


def test_a_method_without_parameter():
    rows = [(np.nan, 5, s, 0.5, 0.5) for s in (0, 1)]
    for rule in (oracle, nested):
        choice = rule(frame(rows))
        assert np.isnan(choice.value)
        assert choice.accuracy.tolist() == [0.5, 0.5]


def test_summary_pairs_the_splits_and_compares_with_print():
    pca = halved([(np.nan, s, x, x) for s, x in enumerate((3, 5, 7))]).assign(method=PCA)
    other = halved([(1.0, s, x, x) for s, x in enumerate((4, 6, 8))])
    summary = summarize(pd.concat([other, pca]), {("s", 0): {"m": 60.0, PCA: 20.0}})
    row = summary[(summary["method"] == "m") & (summary["selection"] == "oracle")].iloc[0]
    assert row["accuracy"] == pytest.approx(60.0)
    assert row["standard_error"] == pytest.approx(20.0 / np.sqrt(3))
    assert row["difference"] == pytest.approx(10.0)
    assert row["difference_error"] == pytest.approx(0.0, abs=1e-9)
    assert row["within_two_se"]
    assert row["seconds"] == 1.0
    reference = summary[(summary["method"] == PCA) & (summary["selection"] == "oracle")].iloc[0]
    assert np.isnan(reference["difference"])
    assert not reference["within_two_se"]


def test_fewer_than_three_splits_have_no_error_and_no_verdict():
    for numbers in ([3.0], [3.0, 3.0]):
        mean, error = mean_and_error(np.array(numbers))
        assert mean == 3.0
        assert np.isnan(error)
    two = halved([(1.0, s, 5, 5) for s in range(2)])
    summary = summarize(two, {("s", 0): {"m": 50.0}})
    assert summary["standard_error"].isna().all()
    assert summary["within_two_se"].isna().all()


def test_an_error_of_zero_is_no_verdict():
    same = halved([(1.0, s, 10, 10) for s in range(4)])
    assert summarize(same, {("s", 0): {"m": 99.0}})["within_two_se"].isna().all()
