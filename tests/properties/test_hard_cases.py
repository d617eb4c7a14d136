"""A sample of the hard cases; ``make torture`` runs ten thousand."""

import numpy as np
import pytest
from hypothesis import given, settings

from properties.cases import KINDS, cases, check, random_case
from support import ESTIMATORS, name, with_components


@settings(max_examples=60)
@given(cases())
def test_promises_hold_for_any_data(case):
    check(case)


@settings(max_examples=25)
@given(cases(kinds=("gaussian",), most=12))
def test_promises_hold_for_plain_data(case):
    check(case)


def test_the_random_cases_reach_everything():
    drawn = [random_case(seed) for seed in range(2000)]
    assert {case.estimator for case in drawn} == set(range(len(ESTIMATORS)))
    assert {case.kind for case in drawn} == set(KINDS)
    assert max(max(case.n, case.d) for case in drawn) > 250
    assert min(case.exponent for case in drawn) < -120
    assert max(case.exponent for case in drawn) > 120
    assert random_case(3) == random_case(3)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize("shape", [(1, 1), (1, 4)])
def test_a_single_row_is_refused(estimator, shape):
    with pytest.raises(ValueError, match="minimum of 2"):
        with_components(estimator, 1).fit(np.ones(shape))
