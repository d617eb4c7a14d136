"""Components with few entries."""

import numpy as np
import pytest

from support import gaussian
from tl1pca import SparseLpPCA, SparseTL1PCA

X = gaussian(60, 6, seed=2, decay=0.8)


@pytest.mark.parametrize("kind", [SparseLpPCA, SparseTL1PCA])
class TestBoth:
    def test_as_many_entries_as_asked_for(self, kind):
        W = kind(2, n_nonzero=2).fit(X).components_
        assert (np.count_nonzero(W, axis=1) == 2).all()
        np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0)

    def test_a_count_belongs_to_the_coordinates(self, kind):
        assert kind()._rotates
        assert not kind(n_nonzero=3)._rotates
        assert kind._oblique

    def test_what_is_refused(self, kind):
        with pytest.raises(ValueError, match="must not exceed the number of features, 6"):
            kind(1, n_nonzero=7).fit(X)
        with pytest.raises(ValueError, match="n_nonzero must be None or a positive integer"):
            kind(1, n_nonzero=0).fit(X)

    def test_more_entries_are_no_lower(self, kind):
        values = [kind(1, n_nonzero=s).fit(X).objective_ for s in (1, 3, 6)]
        assert values[0] <= values[1] * (1 + 1e-9)
        assert values[1] <= values[2] * (1 + 1e-9)


@pytest.mark.parametrize("a", ["auto", 2.0])
def test_the_shape_that_was_used(a):
    pca = SparseTL1PCA(2, n_nonzero=3, a=a).fit(X)
    used = [path[-1] for path in pca.objective_path_] if a == "auto" else [2.0, 2.0]
    np.testing.assert_allclose(pca.a_, used)
