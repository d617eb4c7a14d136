"""TL1SubspacePCA: the robust estimator to pick."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._arrays import double, saturated, to_numpy
from .._flags import Cutoffs, flags
from .._noise import column_noise
from .._predicted import MAX_ROWS, TrustedRows
from ..dimension import choose_dimension, largest_count
from ..location import column_medians
from ..rows import Lift, Rows, safe_factor
from ..solvers.leading_span import has_leading_span
from ..solvers.plane import Plane
from ..solvers.subspace import fit_subspace
from ..statistics import subsample
from ._base import give_back, identity, product, signed_rows
from ._callbacks import reporting_to_callbacks, with_callbacks
from ._fitted import Fitted, all_or_nothing
from ._input import Data, open_data
from ._prediction import OutlierPCA

Array = NDArray[Any]


class TL1SubspacePCA(OutlierPCA):
    r"""Robust PCA, as good as PCA on the good rows alone in most contamination.

    The residual twin of Tl1PCA: rows are judged by their distance r to the
    subspace through :math:`h(u) = u^2/(1+u^2)`, the Tl1 operator of
    :math:`u^2`, whose scale s, mean h(r/s) = 1/5, is minimized. Made for up to
    40 % of bad rows, wherever they lie; what it does not survive (a cluster so
    near that it overlaps the noise, single bad entries in most rows) is listed
    in the documentation with the study that found it.

    1. Start: rows that a gap separates are put aside; of the rest, the least
       outlying ones over many directions (Stahel and Donoho) are trusted.
    2. Concentration: PCA of a majority, and the majority nearest to it, in turn;
       where a gap separates rows, first of those left and then of all.
    3. Dimension: rows are judged at `n_components` dimensions, or, after
       another concentration, at more if most rows have more in common.
    4. Tl1 steps on the rows within a limit of the orthogonal distance.
    5. Reweighting: PCA of all rows within the limit, in turn. Scores have no
       part in it, as groups and long tails inside the subspace are no reason
       to leave the fit; only a cluster far out that looks like one point
       repeated is left out.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Dimension of the subspace. A share in (0, 1): the fewest components
        that reach it, in variance of the trusted rows. None: as many as
        `tl1pca.select_n_components` finds, by cross-validation of the cells of
        the rows that a fit trusts: it looks at what predicts, while parallel
        analysis finds weak directions of large tables as well, and a share of
        the variance says more of the noise than of the structure. That takes a
        fit for each number tried.
    breakdown : float, default=0.5
        Share of bad rows to withstand, in (0, 0.5]; it should be clearly
        larger than the share expected.
    n_directions : int, default=250
        Pairs of rows that give directions for the outlyingness; up to four
        times as many for fewer than 1000 rows, and all pairs of few rows.
    reweight : bool, default=True
        Whether to end with step 5; else the Tl1 steps have the last word.
    random_state : int, RandomState or None, default=0
        Draws the rows that the start looks at where there are more than it can
        (see Notes). With fewer, nothing is drawn: the result is that of the
        data alone, whatever the seed and the order of the rows.
    verbose : bool, default=False
        Whether to print the objective after every iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows in the fit.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the scores of the rows in the fit.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance of the rows in the fit.
    judging_components_ : ndarray of shape (q, n_features)
        Orthonormal basis of the subspace that rows are judged by: the
        components, further ones that most rows have in common, and the columns
        with hardly any values but one, which judge nobody.
    judging_scale_ : ndarray of shape (q,)
        Standard deviations of the scores on it, zero for columns that judge nobody; in double
        precision on the host.
    score_distances_, orthogonal_distances_ : ndarray of shape (n_samples,)
        Of the training rows to that subspace, see `tl1pca.diagnostics.distances`.
    cutoffs_ : Cutoffs
        Largest distances of a regular row, at level 0.99 each.
    flags_ : ndarray of int of shape (n_samples,)
        0 regular, 1 good leverage, 2 orthogonal outlier, 3 bad leverage.
    weights_ : ndarray of shape (n_samples,)
        Weight of each row in the final fit.
    scale_ : float
        The Tl1 scale s of the distances of the rows in them, after the Tl1 steps.
    noise_dimension_ : float
        Directions over which what the judging subspace leaves of the rows in
        the fit is spread evenly; all of them for equal noise in all columns.
    noise_ratio_ : ndarray of shape (n_features,)
        Variance of the noise of each column in new rows, over the mean one that
        the judging subspace leaves to the rows in the fit; `tl1pca.diagnostics.contributions`
        weighs the cells of a row by it.
    objective_, objective_path_ : float, list of one ndarray
        The scale s, and its way down in the Tl1 steps.
    n_components_, rank_, n_iter_, n_features_in_ : int
    converged_ : bool

    Notes
    -----
    Equivariant under shift and scale, and under rotation but for columns with
    one value in most rows, which judge nobody, and of more noise than others,
    which are no further dimension. If more than half of the rows lie exactly in a subspace
    of that dimension, and more of them than always do, which is one more than
    components, that subspace is returned.
    With 400 rows and features or more (16 for each component) all but the
    last plane is sought in a span of a fourth as many directions, from
    spherical PCA; fewer rows than features are fitted in their row space.
    Above five times max(1000, min(5 n_features, 2500)) rows the start looks at
    that many drawn ones, all the data having their say afterwards.

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
    _supports_array_api = True
    _minimizes = True
    #: Whether rows may be judged at more dimensions than the components have.
    _judges_beyond = True
    _none_keeps = "as many as predict the cells of the trusted rows best"
    _fitted: ClassVar[dict[str, Fitted]] = {
        "judging_components_": Fitted(shape="qd"),
        "judging_scale_": Fitted(shape="q", least=0),
        "score_distances_": Fitted(shape="n", least=0),
        "orthogonal_distances_": Fitted(shape="n", least=0),
        "flags_": Fitted(int, "n", least=0, most=3),
        "weights_": Fitted(shape="n", least=0),
        "scale_": Fitted(least=0),
        "noise_dimension_": Fitted(least=1),
        "noise_ratio_": Fitted(shape="d", least=0),
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        breakdown: float = 0.5,
        n_directions: int = 250,
        reweight: bool = True,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.breakdown = breakdown
        self.n_directions = n_directions
        self.reweight = reweight
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if not isinstance(self.breakdown, Real) or not 0 < self.breakdown <= 0.5:
            raise ValueError(f"breakdown must be a share in (0, 0.5], got {self.breakdown!r}.")
        if not isinstance(self.n_directions, Integral) or self.n_directions < 1:
            raise ValueError(f"n_directions must be a positive integer, got {self.n_directions!r}.")
        if not isinstance(self.reweight, bool | np.bool_):
            raise TypeError(f"reweight must be True or False, got {self.reweight!r}.")

    @all_or_nothing
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
        with reporting_to_callbacks(self, X, y):
            data = open_data(self, X)
            with data.rows.threads():
                self._fit(data)
        return give_back(self, X)

    def _fit(self, data: Data) -> None:
        rows = data.rows
        lift: Lift = identity
        k, share = self._check_n_components(min(rows.shape))
        factor = safe_factor(data.max_abs, rows.dtype)
        if factor != 1.0:
            rows = rows.scaled(factor)
        if k is None and share is None:
            k = self._choose(rows)
        # Anywhere near the data, so that their squares keep their digits; a far row must not take it away.
        origin = column_medians(rows.subset(subsample(rows.shape[0], 300)))
        rows = rows.shifted(origin)
        spanned = self.reweight and k is not None and has_leading_span(min(rows.shape), k)
        given = None
        if rows.shape[1] > rows.shape[0] and not spanned:
            given, (rows, lift) = rows, rows.to_row_space()
        fit = fit_subspace(
            rows,
            float(share or 0.0) if k is None else k,
            breakdown=float(self.breakdown),
            n_directions=int(self.n_directions),
            reweight=bool(self.reweight),
            rng=check_random_state(self.random_state),
            row_space=None if given is None else (given, lambda W: to_numpy(lift(rows.asarray(W)))),
            judge_beyond=self._judges_beyond,
        )
        plane, found, judge = fit.plane, fit.assessment, fit.assessment.plane
        self.components_ = signed_rows(lift(rows.asarray(plane.W)))
        self.judging_components_ = signed_rows(lift(rows.asarray(judge.W)))
        self.mean_ = saturated(origin + lift(rows.asarray(judge.center)), factor)
        self.explained_variance_ = rows.asarray(
            product(plane.variances, 1 / factor, 1 / factor, dtype=rows.dtype)
        )
        # Their squares may be beyond the range of numbers, in single precision the scales themselves.
        judging = product(np.sqrt(judge.variances), 1 / factor)
        self.judging_scale_ = judging if isinstance(self.mean_, np.ndarray) else rows.asarray(judging)
        total = max(plane.total_variance, float(plane.variances.sum()))
        ratio = plane.variances / total if total > 0 else np.zeros(len(plane.variances))
        self.explained_variance_ratio_ = rows.asarray(ratio)
        self.n_components_ = len(plane.variances)
        self.rank_ = int(np.count_nonzero(plane.variances > 1e-14 * max(total, 1e-300)))
        self.score_distances_ = rows.to_user(found.score_distances)
        distances = rows.map(lambda od: saturated(double(od), factor), found.orthogonal_distances)
        self.orthogonal_distances_ = rows.to_user(distances)
        orthogonal = min(fit.cutoffs.orthogonal / factor, sys.float_info.max)
        self.cutoffs_ = limits = Cutoffs(fit.cutoffs.score, orthogonal, fit.cutoffs.tilt)
        regions = rows.map(lambda sd, od: flags(sd, od, limits), found.score_distances, distances)
        self.flags_ = rows.to_user(regions)
        self.weights_ = rows.to_user(fit.weights)
        off = max(self.mean_.shape[0] - len(judge.variances), 1)
        self.noise_dimension_ = float(np.nan_to_num(min(fit.noise_dimension, off), nan=off))
        residuals = to_numpy(lift(rows.asarray(fit.residuals.T))).T.astype(np.float64)
        axes = to_numpy(self.judging_components_).astype(np.float64)
        rounding = (100 * float(np.finfo(rows.dtype).eps)) ** 2
        self.noise_ratio_ = rows.asarray(_noise_ratio(residuals, axes, judge, rounding))
        self.objective_path_ = [product(np.asarray(fit.path), 1 / factor)]
        self.scale_ = self.objective_ = float(self.objective_path_[0][-1])
        self.n_iter_ = max(1, len(fit.path) - 1)
        self.converged_ = fit.converged

    def _choose(self, rows: Rows) -> int:
        """As many components as predict the cells of the rows that a fit with them trusts."""
        sample = rows.gather_rows(subsample(rows.shape[0], MAX_ROWS))

        def trusted(k: int) -> TrustedRows:
            fit = clone(self).set_params(n_components=k, verbose=False).fit(sample)
            index = np.flatnonzero(fit.weights_ > 0)
            return TrustedRows(sample[index].astype(np.float64), index=index)

        return choose_dimension(trusted, min(largest_count(*sample.shape), *sample.shape))


def _noise_ratio(residuals: Array, axes: Array, plane: Plane, rounding: float) -> Array:
    """Noise variances of the columns in new rows over the mean residual variance; ones for exact fits.

    The plane of n rows is tilted by their noise, which new rows see as more of it.
    """
    n, lost, d = plane.n_fit, 1 + int(plane.live.sum()), axes.shape[1]
    # From the residuals: the difference of the variances is rounding where a plane explains nearly all.
    squares = float(np.square(residuals).sum()) / max(len(residuals), 1)
    mean = squares * n / (max(n - 1, 1) * max(d - len(plane.variances), 1))
    if mean <= rounding * plane.total_variance or lost >= n:
        return np.ones(d)
    found = column_noise(residuals, axes, 1 - lost / n, rounding * plane.total_variance)
    return found * (1 + lost / n) / mean
