"""IncrementalTL1PCA: the robust subspace of a stream."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._arrays import is_array, namespace, narrowed, saturated, to_numpy
from .._flags import Cutoffs
from .._threads import one_thread
from ..rows import safe_factor
from ..solvers.cell_start import usable_rows
from ..solvers.stream import StreamState, new_state, update
from ..solvers.stream_cells import completed
from ..solvers.stream_model import N_BINS, Model, limits, new_model
from ._base import product, signed_rows
from ._callbacks import reporting_to_callbacks, with_callbacks
from ._cell import TL1CellPCA
from ._fitted import Fitted, all_or_nothing, fitted_attributes
from ._input import is_foreign, open_batches
from ._prediction import OutlierPCA
from ._subspace import TL1SubspacePCA

Array = NDArray[Any]

#: Axes beside the components that the state keeps, as many again and some.
EXTRA_AXES = 5


class IncrementalTL1PCA(OutlierPCA):
    r"""Robust PCA of a stream: batches of any size, bad rows among them, in constant memory.

    The first `warm_up` rows are fitted by `TL1SubspacePCA`. After that every
    block of `batch_size` rows updates center, axes and variances: rows within
    the limits enter alike, as in the last step of that fit, the others are
    rejected and counted. A second model learns from what is rejected, or from
    rows for which the first is too wide, and takes over when more of the
    remembered rows are its own: a real change wins, a burst of bad rows that is
    shorter than the memory does not. See "Streams" in the user guide.

    NaN says that a cell is missing. The robust scores of `TL1CellPCA` stand for
    what is missing of a row, if its observed cells suffice to tell them.

    Parameters
    ----------
    n_components : int, float or None, default=None
        As in `TL1SubspacePCA`, which decides on it in the warm-up.
    warm_up : int, default=300
        Rows of the warm-up, up to 40 % of which may be bad; also rows from
        which a change is learned.
    forget : float, default=1.0
        What is left of the weight of a row after the next one, in (0.9, 1]. The
        memory is ``1 / (1 - forget)`` rows; 1 remembers all rows alike.
    batch_size : int or None, default=None
        Rows of an update. `partial_fit` keeps rows back until the next multiple
        of it, so that how a stream is cut makes no difference. None: five times
        the number of features, from 100 to 1000, and at most a tenth of the
        memory.
    breakdown : float, default=0.5
        As in `TL1SubspacePCA`, in the warm-up.
    random_state : int, RandomState or None, default=0
        As in `TL1SubspacePCA`, in the warm-up.
    verbose : bool, default=False
        Whether to print the objective after every iteration of the warm-up.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, the largest entry of each positive.
    mean_ : ndarray of shape (n_features,)
        Weighted mean of the rows behind the model in use.
    explained_variance_ : ndarray of shape (n_components_,)
        Variances of the scores, consistent with the main mode of the score
        distances of all rows.
    judging_scale_ : ndarray of shape (n_components_,)
        Their roots in double precision, by which rows are judged.
    explained_variance_ratio_ : ndarray of shape (n_components_,)
        Share of the variance of the rows behind the model in use.
    cutoffs_ : Cutoffs
        Largest distances of a regular row, at level 0.99 each.
    scale_ : float
        Typical distance of a row to the subspace.
    n_samples_seen_, n_rejected_ : int
        Rows so far, and those of them that the model in use at the time did not
        learn from. Rows that wait for an update are not counted yet.
    n_incomplete_ : int
        Rows with too few observed cells to say where they lie; nothing was
        learned from them, and they are in no other number.
    n_pending_ : int
        Rows that wait for an update.
    pending_ : ndarray of shape (size of a block, n_features)
        These rows, and zeros.
    models_center_, models_axes_, models_variances_, models_numbers_, models_counts_
        The model in use and its rival, in units of the data times `factor_`;
        see `tl1pca.solvers.stream_model.Model`. The numbers are noise, weight, votes
        and unit.
    reserve_, n_reserve_, reserve_votes_ : ndarray of shape (warm_up, n_features), int, float
        Rows that both rejected, and how many.
    sample_, vain_ : ndarray of shape (4 warm_up, n_features), float
        Rows of what is remembered; how often the model in use was doubted in
        vain, fading.
    factor_ : float
        Power of two that keeps squares of the data in the range of numbers.
    objective_, objective_path_, n_iter_, converged_
        Of the warm-up.
    n_components_, rank_, n_features_in_ : int

    Notes
    -----
    With the memory :math:`M = 1/(1 - f)`, f being `forget`: after a shift of
    the mean it is back at 1.5 times the error of PCA of the good rows in
    :math:`2 M` + `warm_up` + `batch_size` rows, after a rotation by an angle
    :math:`\theta`, where that error is :math:`\alpha`, in
    :math:`M \ln(2\theta/\alpha)` + `batch_size`; with ``forget=1`` when the
    rows after the change outnumber those before. It lags behind a slow drift
    by what drifts in M rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import IncrementalTL1PCA
    >>> from tl1pca.datasets import make_contaminated
    >>> X, bad, axes = make_contaminated(3000, 20, 3, fraction=0.3, random_state=0)
    >>> pca = IncrementalTL1PCA(n_components=3)
    >>> for start in range(0, 3000, 250):
    ...     pca = pca.partial_fit(X[start : start + 250])
    >>> bool((pca.predict(X[bad]) == -1).all())
    True
    """

    _in_memory = None
    _minimizes = True
    _takes_missing = True
    _none_keeps = "as many as predict the cells of the trusted rows of the warm-up best"
    _not_fitted = (
        "This %(name)s is not fitted yet: it has not seen the rows of its warm-up. Call 'partial_fit' with "
        "more rows, or 'fit', which makes do with what there is."
    )
    _fitted: ClassVar[dict[str, Fitted]] = {
        "judging_scale_": Fitted(shape="k", least=0),
        "scale_": Fitted(least=0),
        "n_samples_seen_": Fitted(int, least=2),
        "n_rejected_": Fitted(int, least=0),
        "n_pending_": Fitted(int, least=0),
        "n_incomplete_": Fitted(int, least=0),
        "pending_": Fitted(shape="bd", missing=True),
        "models_center_": Fitted(shape="md"),
        "models_axes_": Fitted(shape="mdq", least=-2, most=2),
        "models_variances_": Fitted(shape="mq", least=0),
        "models_numbers_": Fitted(shape="mv", least=0),
        "models_counts_": Fitted(shape="mwc", least=0),
        "reserve_": Fitted(shape="rd"),
        "n_reserve_": Fitted(int, least=0),
        "reserve_votes_": Fitted(least=0),
        "sample_": Fitted(shape="sd"),
        "vain_": Fitted(least=0),
        "factor_": Fitted(least=0),
    }

    n_incomplete_: int
    n_pending_: int
    pending_: Array
    factor_: float

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        warm_up: int = 300,
        forget: float = 1.0,
        batch_size: int | None = None,
        breakdown: float = 0.5,
        random_state: int | np.random.RandomState | None = 0,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.warm_up = warm_up
        self.forget = forget
        self.batch_size = batch_size
        self.breakdown = breakdown
        self.random_state = random_state
        self.verbose = verbose

    # ---------------------------------------------------------------- parameters
    def _check_parameters(self) -> None:
        self._warm_up_fit()._check_parameters()
        if not isinstance(self.warm_up, Integral) or isinstance(self.warm_up, bool) or self.warm_up < 2:
            raise ValueError(f"warm_up must be a number of rows, at least 2, got {self.warm_up!r}.")
        if not isinstance(self.forget, Real) or not 0.9 < float(self.forget) <= 1:
            raise ValueError(
                "forget must be in (0.9, 1], so that the memory of 1 / (1 - forget) rows is more than ten, "
                f"got {self.forget!r}."
            )
        size = self.batch_size
        if size is not None and (not isinstance(size, Integral) or isinstance(size, bool) or size < 1):
            raise ValueError(f"batch_size must be None or a positive integer, got {size!r}.")

    def _warm_up_fit(self, n_components: int | float | None = None) -> TL1SubspacePCA:
        return TL1SubspacePCA(
            self.n_components if n_components is None else n_components,
            breakdown=self.breakdown,
            random_state=self.random_state,
        )

    def _block_size(self, n_features: int) -> int:
        """Rows of an update."""
        if self.batch_size is not None:
            return int(self.batch_size)
        size = max(100, min(5 * n_features, 1000))
        return size if self.forget == 1 else max(1, min(size, round(0.1 / (1.0 - float(self.forget)))))

    # ---------------------------------------------------------------- fitting
    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: object = None) -> Self:
        """Forget what was learned, and learn from the rows of X in the order in which they are there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or what is read in blocks: a memory map, a zarr array, a pyarrow
            ParquetFile or Dataset; a Dask array or data frame, one partition at
            a time; or an iterator that gives batches of rows. All rows are
            learned from, the last ones in a shorter block.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        for name in fitted_attributes(type(self)).keys() & vars(self).keys():
            delattr(self, name)
        with reporting_to_callbacks(self, X, y):
            for batch in open_batches(self, X, reset=True):
                self._take(batch)
            self._take_the_rest()
        return self._answering_in_kind(X)

    @all_or_nothing
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from some more rows, as few as one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Or anything that `fit` takes.
        y : ignored

        Returns
        -------
        self
        """
        self._to_host()
        for batch in open_batches(self, X, reset=not hasattr(self, "n_features_in_")):
            self._take(batch)
        return self._answering_in_kind(X)

    def _to_host(self) -> None:
        """What was learned as NumPy arrays, to go on from."""
        if not is_array(getattr(self, "pending_", None)):
            return
        for name, value in list(vars(self).items()):
            if is_array(value):
                setattr(self, name, to_numpy(value))

    def _answering_in_kind(self, X: Any) -> Self:
        """All arrays where the rows are, as scikit-learn has it for arrays of other libraries."""
        if is_foreign(X):
            for name, value in list(vars(self).items()):
                if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                    setattr(self, name, namespace(X).asarray(value, device=X.device))
        return self

    def _take(self, batch: Array) -> None:
        """Cut what comes into blocks; what is left of it waits."""
        if not hasattr(self, "pending_"):
            self._check_parameters()
            self._empty(int(self.warm_up), batch)
        done = 0
        while done < len(batch):
            size, waiting = len(self.pending_), self.n_pending_
            count = min(size - waiting, len(batch) - done)
            rows = batch[done : done + count]
            done += count
            if count == size:
                self._learn(rows)
                continue
            # Rows beyond those that wait belong to nobody: a failure leaves them as they were.
            self.pending_[waiting : waiting + count] = rows
            self.n_pending_ = waiting + count
            if self.n_pending_ == size:
                self._learn(self.pending_)

    def _take_the_rest(self) -> None:
        waiting = getattr(self, "n_pending_", 0)
        if waiting:
            self._learn(self.pending_[:waiting])
        if not hasattr(self, "components_"):
            raise ValueError("Found array with 0 sample(s) while a minimum of 2 is required.")

    def _empty(self, size: int, like: Array) -> None:
        self.pending_, self.n_pending_ = np.zeros((size, like.shape[1]), dtype=like.dtype), 0

    def _learn(self, block: Array) -> None:
        self._check_parameters()  # here and not for every row: it takes longer than to keep one
        with one_thread():
            if hasattr(self, "components_"):
                state, k = self._state(), self.n_components_
                rows = completed(state.model, block.astype(np.float64) * self.factor_, k)
                self.n_incomplete_ += len(block) - len(rows)
                self._store(update(state, rows, k, float(self.forget), self._start))
            else:
                self._warm(block)
        size = self._block_size(block.shape[1])
        # Blocks end at multiples of their size: batches of that size leave no row waiting.
        self._empty(size - (self.n_samples_seen_ + self.n_incomplete_) % size, block)

    def _warm(self, block: Array) -> None:
        """From a robust fit of the first rows."""
        if len(block) < 2:
            raise ValueError(f"Found array with {len(block)} sample(s) while a minimum of 2 is required.")
        self._check_n_components(min(block.shape))
        n_rows = len(block)
        if np.isnan(block).any():
            block = self._filled(block)
        self.n_incomplete_ = n_rows - len(block)
        # In double precision, as all that follows, and in units whose squares are numbers.
        self.factor_ = factor = safe_factor(float(np.abs(block).max()), block.dtype)
        rows = block.astype(np.float64) * factor
        first = self._warm_up_fit().fit(rows)
        self.n_components_ = int(first.n_components_)
        model = self._model(first, rows)
        self.n_iter_, self.converged_, self.rank_ = first.n_iter_, first.converged_, first.rank_
        self.objective_ = float(saturated(np.float64(first.objective_), factor))
        self.objective_path_ = [product(path, 1 / factor) for path in first.objective_path_]
        self._store(new_state(model, rows, int(self.warm_up)), block.dtype)
        self.components_ = first.components_.astype(block.dtype)
        self.mean_ = narrowed(saturated(first.mean_, factor), block.dtype)
        self.explained_variance_ = product(
            first.explained_variance_, 1 / factor, 1 / factor, dtype=block.dtype
        )
        self.explained_variance_ratio_ = first.explained_variance_ratio_.astype(block.dtype)
        self.judging_scale_ = product(np.sqrt(first.explained_variance_), 1 / factor)

    def _filled(self, block: Array) -> Array:
        """The rows of the warm-up, missing cells as `TL1CellPCA` predicts them from the good ones."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says which rows and columns have few cells
            pca = TL1CellPCA(self.n_components, breakdown=self.breakdown, random_state=self.random_state).fit(
                block
            )
            full = np.where(np.isnan(block), pca.impute(block), block)
        return full[usable_rows(~np.isnan(block), pca.n_components_)]

    def remembered(self) -> Array:
        """A sample of the rows that are remembered, each as likely as any other; bad ones are among them.

        Returns
        -------
        ndarray of shape (min(n_samples_seen_, 4 * warm_up), n_features)
        """
        check_is_fitted(self, msg=self._not_fitted)
        sample = to_numpy(self.sample_)[: self.n_samples_seen_]
        return saturated(sample, self.factor_)

    def _start(self, rows: Array) -> Model:
        """The model of some rows of the stream."""
        return self._model(self._warm_up_fit(self.n_components_).fit(rows), rows)

    def _model(self, fit: TL1SubspacePCA, rows: Array) -> Model:
        """The model of the rows of a fit."""
        n_axes = min(rows.shape[1], 2 * self.n_components_ + EXTRA_AXES)
        return new_model(
            rows, fit.mean_.astype(np.float64), fit.components_.astype(np.float64), fit.weights_ > 0, n_axes
        )

    # ---------------------------------------------------------------- state and attributes
    def _state(self) -> StreamState:
        """The state that the fitted attributes hold."""
        model, rival = (
            Model(center, axes, variances, float(noise), float(weight), float(votes), float(unit), counts)
            for center, axes, variances, (noise, weight, votes, unit), counts in zip(
                self.models_center_,
                self.models_axes_,
                self.models_variances_,
                self.models_numbers_,
                self.models_counts_,
            )
        )
        return StreamState(
            model,
            rival,
            self.reserve_,
            self.n_reserve_,
            self.reserve_votes_,
            self.sample_,
            self.vain_,
            self.n_samples_seen_,
            self.n_rejected_,
        )

    def _store(self, state: StreamState, dtype: Any = None) -> None:
        pair, model, k = (state.model, state.rival), state.model, self.n_components_
        self.models_center_ = np.stack([each.center for each in pair])
        self.models_axes_ = np.stack([each.axes for each in pair])
        self.models_variances_ = np.stack([each.variances for each in pair])
        self.models_numbers_ = np.array([[each.noise, each.weight, each.votes, each.unit] for each in pair])
        self.models_counts_ = np.stack([each.counts for each in pair])
        self.reserve_, self.n_reserve_ = state.reserve, state.n_reserve
        self.reserve_votes_ = float(state.reserve_votes)
        self.sample_, self.vain_ = state.sample, state.vain
        self.n_samples_seen_, self.n_rejected_ = state.n_seen, state.n_rejected
        bounds, factor = limits(model, k), self.factor_
        cutoffs = bounds.cutoffs
        self.scale_ = float(saturated(np.float64(bounds.scale), factor))
        self.cutoffs_ = Cutoffs(
            cutoffs.score, float(saturated(np.float64(cutoffs.orthogonal), factor)), cutoffs.tilt
        )
        dtype = self.components_.dtype if dtype is None else dtype
        variances = model.variances[:k] * bounds.size
        total = float(variances.sum()) + model.noise
        self.components_ = signed_rows(model.axes[:, :k]).astype(dtype)
        self.mean_ = saturated(model.center, factor).astype(dtype)
        self.explained_variance_ = product(variances, 1 / factor, 1 / factor, dtype=dtype)
        # Their squares may be beyond the range of numbers, in single precision the scales themselves.
        self.judging_scale_ = product(np.sqrt(variances), 1 / factor)
        self.explained_variance_ratio_ = (variances / max(total, np.finfo(np.float64).tiny)).astype(dtype)
        self.rank_ = int(np.count_nonzero(variances > 1e-14 * max(total, 1e-300)))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        pair, d = self.models_axes_, self.n_features_in_
        two = (len(pair), self.models_numbers_.shape[1], *self.models_counts_.shape[1:])
        if two != (2, 4, 2, N_BINS) or not self.n_components_ <= pair.shape[2] <= d:
            raise ValueError("the models of the stream have other sizes than a fit gives.")
        if any(np.abs(axes.T @ axes - np.eye(axes.shape[1])).max() > 1e-6 for axes in pair):
            raise ValueError("the axes of the stream are not orthonormal.")
        if not self.n_pending_ < len(self.pending_) or not self.n_rejected_ <= self.n_samples_seen_:
            raise ValueError("its numbers of rows do not agree.")
        if not self.factor_ > 0 or not self.models_numbers_[0, 1:].min() > 0:
            raise ValueError("the model in use has no rows behind it.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")
