"""The two rules of choice, and that the nested one is blind to the test images."""

import numpy as np
import pandas as pd
import pytest

from tl1pca.experiments.methods import PCA
from tl1pca.experiments.selection import halves, mean_and_error, nested, oracle, summarise


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


def test_halves_choose_on_one_half_and_read_the_other():
    """Each half prefers another value, so that what is read is what the other half would not have chosen."""
    rows = [(v, 5, s, 0.9 if (v == 1) == (s % 2 == 0) else 0.1, 0.5) for v in (1, 2) for s in range(4)]
    assert halves(frame(rows)).accuracy.tolist() == [0.1] * 4
    agreed = [(v, 5, s, 0.1 * v + 0.01 * s, 0.5) for v in (1, 2) for s in range(3)]
    assert halves(frame(agreed)).accuracy == pytest.approx([0.2, 0.21, 0.22])
    assert np.isnan(halves(frame(agreed[:1])).accuracy).all()


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
    pca = frame([(np.nan, 5, s, x, 0.5) for s, x in enumerate((0.4, 0.6))]).assign(method=PCA)
    other = frame([(1.0, 5, s, x, 0.5) for s, x in enumerate((0.5, 0.7))])
    summary = summarise(pd.concat([other, pca]), {("s", 0): {"m": 60.0, PCA: 20.0}})
    row = summary[(summary["method"] == "m") & (summary["selection"] == "oracle")].iloc[0]
    assert row["accuracy"] == pytest.approx(60.0)
    assert row["standard_error"] == pytest.approx(10.0)
    assert row["difference"] == pytest.approx(10.0)
    assert row["difference_error"] == pytest.approx(0.0, abs=1e-9)
    assert row["within_two_se"]
    assert row["seconds"] == 1.0
    reference = summary[(summary["method"] == PCA) & (summary["selection"] == "oracle")].iloc[0]
    assert np.isnan(reference["difference"])
    assert not reference["within_two_se"]


def test_one_number_has_no_error():
    mean, error = mean_and_error(np.array([3.0]))
    assert mean == 3.0
    assert np.isnan(error)
