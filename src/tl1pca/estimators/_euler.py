"""Euler PCA: complex principal components of rows on the unit circle."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from .._arrays import narrowed, to_numpy
from ..rows import DenseRows, safe_factor
from ._composed import Transformer, given_scores, new_rows
from ._fitted import Fitted, all_or_nothing
from ._input import open_data

Array = NDArray[Any]


class EulerPCA(Transformer):
    r"""Euler PCA: principal components of :math:`z = e^{i\alpha\pi x}/\sqrt2` (Liwicki et al. 2013).

    Rows, scaled to [0, 1], are put on the unit circle entry by entry, where two
    entries are never further apart than :math:`\sqrt2`: that is the robustness.
    The principal components are complex, and so are the scores, whose real
    parts come first in what `transform` returns, then the imaginary ones. (PCA of
    real and imaginary parts as twice as many real columns is another method.)
    As published, nothing is subtracted.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of complex components; None keeps all that the rows span.
    alpha : float, default=1.9
        As published; below 2, where 0 and 1 would coincide. For small `alpha`
        distances are those of the rows.

    Attributes
    ----------
    real_, imaginary_ : ndarray of shape (n_components_, n_features)
        Parts of the components, the rows V of the conjugated transpose: the
        entry of largest modulus of each is real and positive.
    data_min_, data_max_ : float
        What is scaled to 0 and to 1; new entries beyond are cut.
    explained_variance_ : ndarray of shape (n_components_,)
        Eigenvalues of :math:`Z^HZ`, divided by the number of rows.
    n_components_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from tl1pca import EulerPCA
    >>> X = np.random.default_rng(0).uniform(size=(20, 6))
    >>> EulerPCA(2).fit_transform(X).shape
    (20, 4)
    """

    _fitted: ClassVar[dict[str, Fitted]] = {
        "real_": Fitted(shape="kd"),
        "imaginary_": Fitted(shape="kd"),
        "data_min_": Fitted(),
        "data_max_": Fitted(),
        "explained_variance_": Fitted(shape="k", least=0),
        "n_components_": Fitted(int, counts="k"),
    }

    def __init__(self, n_components: int | None = None, *, alpha: float = 1.9):
        self.n_components = n_components
        self.alpha = alpha

    def _check_parameters(self) -> None:
        alpha, k = self.alpha, self.n_components
        if not isinstance(alpha, Real) or isinstance(alpha, bool) or not 0 < alpha < 2:
            raise ValueError(f"alpha must be in (0, 2), beyond which 0 and 1 coincide, got {alpha!r}.")
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
            raise ValueError(f"n_components must be None or a positive integer, got {k!r}.")

    @all_or_nothing
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All entries in one unit, such as pixels.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        A = to_numpy(open_data(self, X).rows.array())
        most = min(A.shape)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} must be at most min(n_samples, n_features)={most}."
            )
        self.data_min_, self.data_max_ = float(A.min()), float(A.max())
        if self.data_min_ == self.data_max_:
            raise ValueError("All entries of X are equal: there is nothing to put on the circle.")
        with DenseRows(A).threads():
            _, s, Vh = linalg.svd(self._on_circle(A), full_matrices=False)
        rank = int(np.count_nonzero(s > 1e-10 * s[0]))
        k = rank if self.n_components is None else int(self.n_components)
        V = Vh[:k]
        largest = V[np.arange(k), np.argmax(np.abs(V), axis=1)]
        V = V * (np.abs(largest) / largest)[:, None]
        self.real_, self.imaginary_ = V.real.astype(A.dtype), V.imag.astype(A.dtype)
        self.explained_variance_ = (s[:k] ** 2 / len(A)).astype(A.dtype)
        self.n_components_ = k
        return self

    def _on_circle(self, A: Array) -> Array:
        # In units in which no difference over- or underflows.
        unit = 0.25 * safe_factor(max(abs(self.data_min_), abs(self.data_max_)), np.dtype(np.float64))
        low, high = unit * self.data_min_, unit * self.data_max_
        share = (unit * np.clip(A.astype(np.float64), self.data_min_, self.data_max_) - low) / (high - low)
        return np.asarray(np.exp(1j * float(self.alpha) * np.pi * share) / np.sqrt(2.0))

    @property
    def _components(self) -> Array:
        return self.real_.astype(np.float64) + 1j * self.imaginary_.astype(np.float64)

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.n_components_)

    def _check_fitted(self) -> None:
        V = self._components
        if np.abs(V @ V.conj().T - np.eye(len(V))).max() > 1e-3 or not self.data_min_ < self.data_max_:
            raise ValueError("real_ and imaginary_ are no orthonormal components.")

    def transform(self, X: ArrayLike) -> Array:
        """Scores: their real parts, then their imaginary parts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2 * n_components_)
        """
        A = new_rows(self, X)
        with DenseRows(A).threads():
            scores = self._on_circle(A) @ self._components.conj().T
        return np.hstack([scores.real, scores.imag]).astype(A.dtype)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Rows for given scores: the angles of what the components make of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, 2 * n_components_)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            In the range of the rows of `fit`; an angle beyond it belongs to
            whichever end is nearer.
        """
        T = given_scores(self, X)
        real, imaginary = np.hsplit(T.astype(np.float64), 2)
        Z = (real + 1j * imaginary) @ self._components
        turn = np.mod(np.angle(Z), 2 * np.pi) / (float(self.alpha) * np.pi)
        share = np.where(turn <= 1.0, turn, np.where(turn - 1.0 < 2.0 / float(self.alpha) - turn, 1.0, 0.0))
        return narrowed(self.data_min_ * (1.0 - share) + self.data_max_ * share, T.dtype)
