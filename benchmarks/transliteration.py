"""The paper's Algorithms 1 and 2 line by line: the oracle of the tests and the yardstick of the benchmarks.

Samples are columns and each component lives in an explicit orthonormal basis
of the complement of the earlier ones, as printed. The gaps of the pseudo-code
are closed as its authors' program closes them: the step is tested before it
is halved, and the ascent ends when it gains less than 1e-6.
"""

import numpy as np
from scipy.linalg import qr, solve


def objective(X, w, a):
    t = np.abs(X.T @ w)
    return np.sum((a + 1) * t / (a + t))


def gradient(X, w, a):
    t = X.T @ w
    return X @ (a * (a + 1) * np.sign(t) / (a + np.abs(t)) ** 2)


def algorithm_1(X, a, theta, max_iter=1000):
    norms = np.linalg.norm(X, axis=0)
    values = [
        objective(X, X[:, k] / norms[k], a) if norms[k] > 1e-6 * norms.max() else -np.inf
        for k in range(X.shape[1])
    ]
    start = int(np.argmax(values))
    w = X[:, start] / norms[start]
    f = values[start]
    for _ in range(max_iter):
        G = gradient(X, w, a)
        g = G - (G @ w) * w
        if np.linalg.norm(g) <= 1e-14 * np.linalg.norm(G):
            break
        g = g / np.linalg.norm(g)
        w_new = w * np.cos(theta) + g * np.sin(theta)
        while objective(X, w_new, a) < f and theta > 1e-16:
            theta = theta / 2
            w_new = w * np.cos(theta) + g * np.sin(theta)
        if theta <= 1e-16:
            break
        w = w_new / np.linalg.norm(w_new)
        f_old, f = f, objective(X, w, a)
        theta = min(2 * theta, np.pi / 2)
        if f - f_old < 1e-6:
            break
    return w, f, start, values[start]


def complement(W):
    """Orthonormal basis T of W'T = 0, as printed: solve the linear equations, then Gram-Schmidt."""
    d, j = W.shape
    order = qr(W.T, mode="r", pivoting=True)[1]
    solved, free = order[:j], order[j:]
    T = np.zeros((d, d - j))
    T[free, np.arange(d - j)] = 1.0
    T[solved] = -solve(W[solved].T, W[free].T)
    for k in range(d - j):
        T[:, k] -= T[:, :k] @ (T[:, :k].T @ T[:, k])
        T[:, k] /= np.linalg.norm(T[:, k])
    return T


def algorithm_2(X, a, n_components, rng, complement=complement):
    """Components as columns, objectives, start rows and start values."""
    X0 = np.asarray(X, dtype=float).T
    d = X0.shape[0]
    T, W, results = np.eye(d), np.zeros((d, 0)), []
    for _ in range(n_components):
        theta = 0.5 * np.pi * (1.0 - rng.uniform())
        w, *rest = algorithm_1(T.T @ X0, a, theta)
        W = np.column_stack([W, T @ w])
        results.append(rest)
        T = complement(W)
    return W, results
