"""The small data of the golden values in tests/paper/test_family.py."""

import numpy as np

#: Five images of 3 x 3.
IMAGES = np.array(
    [
        [[2, 0, 1], [1, 3, -1], [0, 1, 4]],
        [[-1, 2, 0], [3, 1, 1], [2, -2, 1]],
        [[0, -3, 2], [1, -1, 0], [4, 1, -2]],
        [[3, 1, -2], [-2, 0, 2], [1, -1, 0]],
        [[9, -8, 7], [-7, 6, -9], [8, 9, -6]],
    ],
    dtype=float,
)
#: Eight rows of four columns, the last one far away.
ROWS = np.array(
    [
        [2, 1, 0, 1],
        [-1, 2, 1, 0],
        [3, 0, -1, 2],
        [-2, -1, 2, -1],
        [0, 1, -3, 1],
        [1, -2, 1, -2],
        [-3, -1, 0, -1],
        [5, -6, 7, 4],
    ],
    dtype=float,
)
#: Twelve points in three groups, the last one far away.
POINTS = np.array(
    [[0, 0], [1, 0], [0, 1], [2, 1], [3, 2], [4, 2], [3, 4], [4, 4], [0, 5], [1, 6], [-1, 5], [6, 9]],
    dtype=float,
)
GROUPS = np.repeat([0, 1, 2], 4)


def along(w, want, atol=1e-6):
    """The same direction, up to its sign."""
    w, want = np.asarray(w, dtype=float), np.asarray(want, dtype=float)
    np.testing.assert_allclose(w * np.sign(w @ want), want, atol=atol)
