"""Declarations of fitted attributes, and fits that are all or nothing."""

import pytest

from tl1pca.estimators._fitted import Fitted, all_or_nothing, fitted_attributes


class Base:
    _fitted = {"a_": Fitted(), "b_": Fitted(int)}  # noqa: RUF012


class Derived(Base):
    _fitted = {"b_": Fitted(bool), "c_": Fitted(shape="kd")}  # noqa: RUF012


def test_a_class_adds_to_its_bases():
    found = fitted_attributes(Derived)
    assert list(found) == ["a_", "b_", "c_"]
    assert found["b_"].kind is bool
    assert fitted_attributes(Base)["b_"].kind is int


class Fits:
    def __init__(self):
        self.kept = 1

    @all_or_nothing
    def fit(self, X):
        self.kept, self.new = X, True
        if X is None:
            raise ValueError("no data")
        return self


def test_a_fit_that_fails_leaves_nothing():
    one = Fits()
    with pytest.raises(ValueError, match="no data"):
        one.fit(None)
    assert vars(one) == {"kept": 1}
    assert one.fit(2) is one
    assert vars(one) == {"kept": 2, "new": True}
