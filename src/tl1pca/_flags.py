"""Cut-offs of the two distances of a row, and the regions that they make."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from ._arrays import cast, namespace, saturated, to_numpy

Array = NDArray[Any]

#: What the tilt of a fitted subspace may add to a squared orthogonal distance, in units of the noise: it
#: at most doubles the distance. A row that needs more to be excused lies off the subspace.
MOST_TILT = 3.0


class Flag(IntEnum):
    """Region of the outlier map a row falls into."""

    REGULAR = 0
    GOOD_LEVERAGE = 1  # far away inside the subspace
    ORTHOGONAL_OUTLIER = 2  # off the subspace, its projection inside the cloud
    BAD_LEVERAGE = 3  # off the subspace and far away

    @property
    def label(self) -> str:
        """The name for people, as figures, pages, tables and files spell it.

        Examples
        --------
        >>> Flag.ORTHOGONAL_OUTLIER.label
        'orthogonal outlier'
        """
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Cutoffs:
    """Largest score and orthogonal distance of a regular row.

    `orthogonal` is that of a row in the middle of the scores. A fitted subspace
    is tilted by the noise of the rows behind it, which lengthens the orthogonal
    distance of rows far out in it: `tilt` is their number plus one, and infinite
    for a subspace that is taken as known.
    """

    score: float
    orthogonal: float
    tilt: float = np.inf


def cutoffs(orthogonal_distances: Array, n_components: int, level: float = 0.975) -> Cutoffs:
    """The usual cut-offs (Hubert et al. 2005): chi for scores, OD^(2/3) nearly normal.

    Parameters
    ----------
    orthogonal_distances : ndarray of shape (n,)
    n_components : int
    level : float, default=0.975
        Share of regular rows below each of the two cut-offs.

    Returns
    -------
    Cutoffs
    """
    z = np.cbrt(to_numpy(orthogonal_distances).astype(np.float64)) ** 2
    middle = float(np.median(z))
    mad = 1.4826 * float(np.median(np.abs(z - middle)))
    with np.errstate(over="ignore"):
        orthogonal = float(saturated(np.float64(max(middle + mad * float(ndtri(level)), 0.0)) ** 1.5))
    return Cutoffs(float(np.sqrt(chdtri(n_components, 1.0 - level))), orthogonal)


def flags(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs) -> Array:
    """Region of every row in the outlier map, as values of `Flag`."""
    whole = namespace(score_distances).int64
    off = orthogonal_distances > orthogonal_limit(score_distances, limits)
    far = score_distances > limits.score
    return int(Flag.GOOD_LEVERAGE) * cast(far, whole) + int(Flag.ORTHOGONAL_OUTLIER) * cast(off, whole)


def excess(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs) -> Array:
    """The larger of the two distances over its cut-off: above one for rows that are not regular."""
    xp = namespace(score_distances)
    limit = xp.maximum(orthogonal_limit(score_distances, limits), sys.float_info.min)
    with np.errstate(over="ignore"):  # a product beyond the largest number caps nothing, as it should
        capped = xp.minimum(orthogonal_distances, 1e300 * limit)
        return xp.maximum(saturated(score_distances / limits.score), capped / limit)


def labels(score_distances: Array, orthogonal_distances: Array, limits: Cutoffs) -> Array:
    """+1 for regular rows and -1 for those beyond a cut-off."""
    bad = excess(score_distances, orthogonal_distances, limits) > 1
    return 1 - 2 * cast(bad, namespace(bad).int64)


def orthogonal_limit(score_distances: Array, limits: Cutoffs) -> Array:
    """Cut-off of the orthogonal distance, longer for rows far out in a tilted subspace.

    Parameters
    ----------
    score_distances : ndarray of shape (n,)
    limits : Cutoffs

    Returns
    -------
    ndarray of shape (n,)
        ``limits.orthogonal`` for every row where the subspace is taken as known.

    Examples
    --------
    >>> orthogonal_limit(np.array([0.0, 10.0, 900.0]), Cutoffs(3.0, 2.0, tilt=100.0)).round(1).tolist()
    [2.0, 2.8, 4.0]
    """
    xp = namespace(score_distances)
    most = float(xp.finfo(score_distances.dtype).max) ** 0.49
    far = xp.minimum(score_distances, most)  # its square is to be a number
    with np.errstate(over="ignore"):
        return saturated(limits.orthogonal * xp.sqrt(1 + xp.minimum(far**2 / limits.tilt, MOST_TILT)))
