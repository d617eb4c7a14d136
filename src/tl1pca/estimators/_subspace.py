"""TL1SubspacePCA: the robust estimator to pick."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import diagnostics
from .._arrays import cast, double, namespace
from ..diagnostics import Cutoffs
from ..rows import Lift
from ..solvers.subspace import fit_subspace
from ._base import BasePCA, product, safe_factor, same, signed_rows
from ._dask import lazy
from ._opening import Data, check_new, open_data
from ._watching import watched, with_callbacks

Array = NDArray[Any]


class TL1SubspacePCA(BasePCA):
    r"""Robust PCA, as good as PCA on the good rows alone in most contamination.

    The residual twin of Tl1PCA: rows are judged by their distance r to the
    subspace through :math:`h(u) = u^q/(1+u^q)`, the Tl1 operator of
    :math:`u^q`, whose scale s, mean h(r/s) = 1/2, is minimised. Made for up to
    40 % of bad rows, wherever they lie; what it does not survive (a cluster so
    near that it overlaps the noise, single bad entries in most rows) is listed
    in the documentation with the study that found it.

    1. Start: rows that a gap separates are put aside; of the rest, the least
       outlying ones over many directions (Stahel and Donoho) are trusted.
    2. PCA of the trusted rows and exclusion of rows beyond the cut-offs, in turn.
    3. Tl1 steps on the rows that are left, so that the fit is smooth.
    4. PCA of all rows within the cut-offs, for full efficiency.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Dimension of the subspace. A share in (0, 1): the fewest components
        that reach it, in variance of the trusted rows. None: the fewest that
        reach 80 %, at most 10, none with less than 1e-3 of the first variance.
    breakdown : float, default=0.5
        Share of bad rows to withstand, in (0, 0.5]; it should be clearly
        larger than the share expected.
    power : float, default=2.0
        q above, in (0, 2]; larger ones are not monotone.
    n_directions : int, default=250
        Random pairs of rows that give directions for the outlyingness.
    reweight : bool, default=True
        Whether to end with PCA of all rows within the cut-offs.
    random_state : int, RandomState or None, default=None
        Draws pairs of rows, and the rows of the start when there are more
        than max(1000, min(5 n_features, 4000)).
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows in the fit.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the scores of the rows in the fit, made consistent with
        the main mode of their score distances.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance of the rows in the fit.
    score_distances_, orthogonal_distances_ : ndarray of shape (n_samples,)
        Of the training rows, see `tl1pca.diagnostics.distances`.
    cutoffs_ : Cutoffs
        Largest distances of a regular row, at level 0.99 each.
    flags_ : ndarray of int of shape (n_samples,)
        0 regular, 1 good leverage, 2 orthogonal outlier, 3 bad leverage.
    weights_ : ndarray of shape (n_samples,)
        Weight of each row in the final fit.
    scale_ : float
        The Tl1 scale s of the distances, after step 3.
    objective_, objective_path_ : float, list of one ndarray
        The scale s, and its way down in step 3.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Notes
    -----
    Equivariant under shift, scale and rotation. If more than half of the rows
    lie exactly in a subspace of that dimension, that subspace is returned.
    With more features than samples everything happens in the row space.

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import TL1SubspacePCA
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(300, 20, 3, fraction=0.4, random_state=0)
    >>> pca = TL1SubspacePCA(n_components=3, random_state=0).fit(X)
    >>> bool((pca.predict(X[bad]) == -1).all())
    True
    """

    _in_memory = None
    _at_home = True
    _per_row = ("score_distances_", "orthogonal_distances_", "flags_", "weights_")

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        breakdown: float = 0.5,
        power: float = 2.0,
        n_directions: int = 250,
        reweight: bool = True,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.breakdown = breakdown
        self.power = power
        self.n_directions = n_directions
        self.reweight = reweight
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if not isinstance(self.breakdown, Real) or not 0 < self.breakdown <= 0.5:
            raise ValueError(f"breakdown must be a share in (0, 0.5], got {self.breakdown!r}.")
        if not isinstance(self.power, Real) or not 0 < self.power <= 2:
            raise ValueError(f"power must be in (0, 2], where the scale never increases, got {self.power!r}.")
        if not isinstance(self.n_directions, Integral) or self.n_directions < 1:
            raise ValueError(f"n_directions must be a positive integer, got {self.n_directions!r}.")
        if not isinstance(self.reweight, bool | np.bool_):
            raise TypeError(f"reweight must be True or False, got {self.reweight!r}.")

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the subspace to the majority of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or what is read in blocks: a memory map, a zarr array, any object
            with shape, dtype and row slicing, a pyarrow ParquetFile or Dataset;
            or a Dask array or data frame. See "Scaling" in the documentation.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        with watched(self, X, y):
            data = open_data(self, X)
            with data.rows.threads():
                return self._fit(data)

    def _fit(self, data: Data) -> Self:
        rows = data.rows
        lift: Lift = same
        k, share = self._check_n_components(min(rows.shape))
        factor = safe_factor(data.extent, rows.dtype)
        if factor != 1.0:
            rows = rows.scaled(factor)
        # Anywhere near the data, so that their squares keep their digits.
        origin = rows.put(rows.take(np.arange(min(rows.shape[0], 1000))).mean(axis=0))
        rows = rows.shifted(origin)
        if rows.shape[1] > rows.shape[0]:
            rows, lift = rows.compact()
        fit = fit_subspace(
            rows,
            share if k is None else k,
            breakdown=float(self.breakdown),
            power=float(self.power),
            n_directions=int(self.n_directions),
            reweight=bool(self.reweight),
            rng=check_random_state(self.random_state),
        )
        plane, verdict = fit.verdict.plane, fit.verdict
        W, center = rows.put(plane.W), rows.put(plane.center)
        self.components_ = signed_rows(lift(W))
        self.mean_ = (origin + lift(center)) / factor
        variances = product(plane.variances, 1 / factor, 1 / factor, dtype=rows.dtype)
        self.explained_variance_ = rows.put(variances)
        total = max(plane.total_variance, float(plane.variances.sum()))
        ratio = plane.variances / total if total > 0 else np.zeros(len(plane.variances))
        self.explained_variance_ratio_ = rows.put(ratio)
        self.n_components_ = len(plane.variances)
        self.rank_ = int(np.count_nonzero(plane.variances > 1e-14 * max(total, 1e-300)))
        self.score_distances_ = rows.owned(verdict.score_distances)
        self.orthogonal_distances_ = rows.owned(
            rows.map(lambda od: double(od) / factor, verdict.orthogonal_distances)
        )
        limits = verdict.cutoffs
        self.cutoffs_ = limits = Cutoffs(limits.score, limits.orthogonal / factor, limits.tilt)
        self.flags_ = rows.owned(
            rows.map(
                lambda sd, od: diagnostics.flags(sd, double(od) / factor, limits, len(plane.variances)),
                verdict.score_distances,
                verdict.orthogonal_distances,
            )
        )
        self.weights_ = rows.owned(fit.weights)
        self.objective_path_ = [np.asarray(fit.path) / factor]
        self.scale_ = self.objective_ = float(self.objective_path_[0][-1])
        self.n_iter_ = max(1, len(fit.path) - 1)
        self.converged_ = fit.converged
        return self

    @lazy
    def distances(self, X: ArrayLike) -> tuple[Array, Array]:
        """Score and orthogonal distances of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        score_distances, orthogonal_distances : ndarray of shape (n_samples,)
        """
        return self._distances(X, "distances")

    def _distances(self, X: ArrayLike, method: str) -> tuple[Array, Array]:
        check_is_fitted(self)
        return self._by_rows(lambda rows: diagnostics.distances(rows, self), check_new(self, X, method))

    def _margin(self, X: ArrayLike, method: str) -> Array:
        return 1.0 - diagnostics.excess(*self._distances(X, method), self.cutoffs_, self.n_components_)

    @lazy
    def decision_function(self, X: ArrayLike) -> Array:
        """One minus the larger of the two distances over its cut-off: negative for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._margin(X, "decision_function")

    @lazy
    def predict(self, X: ArrayLike) -> Array:
        """+1 for regular rows and -1 for outliers, leverage points among them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int of shape (n_samples,)
        """
        bad = self._margin(X, "predict") < 0
        whole = namespace(bad).int64
        return 1 - 2 * cast(bad, whole)
