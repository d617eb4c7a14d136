"""The Python worker: see ``peers/__init__.py`` for what goes in and out. Needs no tl1pca unless asked for it.

A method maps (X, k, seed) to a fit without arguments, the part that is timed; what the fit returns
is turned into components (k x d) and, where the method judges rows, distances over cut-offs afterwards.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np

METHODS = {}


def method(function):
    METHODS[function.__name__] = function
    return function


def own(name, **options):
    """An estimator of this package, which judges rows where it has a `decision_function`."""

    def prepare(X, k, seed):
        import tl1pca

        estimator = getattr(tl1pca, name)(k, **options)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)

        def result(fitted):
            judges = hasattr(fitted, "decision_function")
            return fitted.components_, 1.0 - fitted.decision_function(X) if judges else None

        return lambda: estimator.fit(X), result

    METHODS[name] = prepare


own("TL1SubspacePCA")
own("TL1PCA", a="auto")
own("L1PCA")
own("R1PCA")


def leading(scatter, k):
    return np.linalg.eigh(scatter)[1][:, ::-1][:, :k].T


@method
def PCA(X, k, seed):  # noqa: N802
    from sklearn.decomposition import PCA

    pca = PCA(k, random_state=seed)
    return lambda: pca.fit(X), lambda fitted: (fitted.components_, None)


@method
def MinCovDet(X, k, seed):  # noqa: N802
    from sklearn.covariance import MinCovDet

    mcd = MinCovDet(random_state=seed)
    return lambda: leading(mcd.fit(X).covariance_, k), lambda components: (components, None)


def over_cutoffs(orthogonal, score2, k):
    """The larger of the two distances over the usual cut-offs (Hubert et al. 2005)."""
    from scipy.stats import chi2, norm

    z = np.cbrt(orthogonal**2)
    middle = np.median(z)
    cut = (middle + norm.ppf(0.975) * 1.4826 * np.median(np.abs(z - middle))) ** 1.5
    return np.maximum(orthogonal / max(cut, 1e-300), np.sqrt(score2 / chi2.ppf(0.975, k)))


def robpy_map(fitted, X):
    """Components and judgment by the distances and cut-offs of robpy's own outlier map."""
    from robpy.pca.base import get_od_cutoff
    from scipy.stats import chi2

    orthogonal = np.linalg.norm((X - fitted.location_) - fitted.project(X), axis=1)
    score2 = np.sum(fitted.transform(X) ** 2 / fitted.explained_variance_, axis=1)
    score = np.sqrt(score2 / chi2.ppf(0.975, fitted.n_components))
    return fitted.components_.T, np.maximum(orthogonal / max(get_od_cutoff(orthogonal), 1e-300), score)


@method
def RobustPCA(X, k, seed):  # noqa: N802
    from robustcov import FastMCD, RobustPCA

    scatter = {"estimator": FastMCD()} if len(X) > 2 * X.shape[1] else {}
    pca = RobustPCA(n_components=k, **scatter)

    def result(fitted):
        A = X - fitted.location_
        T = A @ fitted.components_.T
        score2 = np.sum(T**2 / fitted.explained_variance_, axis=1)
        orthogonal = np.linalg.norm(A - T @ fitted.components_, axis=1)
        return fitted.components_, over_cutoffs(orthogonal, score2, k)

    return lambda: pca.fit(X), result


@method
def ROBPCA(X, k, seed):  # noqa: N802
    from robpy.pca import ROBPCA

    # No seed: with one, robpy 0.0.6 draws the same direction 250 times.
    robpca = ROBPCA(n_components=k, alpha=0.5, verbosity=50)
    return lambda: robpca.fit(X), lambda fitted: robpy_map(fitted, X)


@method
def PCALocantore(X, k, seed):  # noqa: N802
    from robpy.pca import PCALocantore

    spherical = PCALocantore(n_components=k)
    return lambda: spherical.fit(X), lambda fitted: robpy_map(fitted, X)


@method
def Tyler(X, k, seed):  # noqa: N802
    from statsmodels.robust.covariance import cov_tyler

    # It takes the location to be 0. The default eps = 1e-13 is below rounding: always 100 iterations.
    return (
        lambda: leading(cov_tyler(X - np.median(X, axis=0), eps=1e-6).cov, k),
        lambda components: (components, None),
    )


def answer(name, n, d, k, seed, folder):
    X = np.fromfile(Path(folder) / "X.bin").reshape(n, d)
    fit, result = METHODS[name](X, k, seed)
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = fit()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    components, excess = result(fitted)
    parts = [np.ravel(components)] + ([] if excess is None else [excess])
    np.concatenate(parts, dtype=np.float64).tofile(Path(folder) / "out.bin")
    return f"ok {wall} {cpu} {len(components)} {int(excess is not None)}"


def main():
    warnings.simplefilter("ignore")
    channel, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not look like an answer
    warm = set()
    for line in sys.stdin:
        name, n, d, k, seed, folder = line.rstrip("\n").split(" ", 5)
        try:
            if name not in warm:
                warm.add(name)
                METHODS[name](np.random.default_rng(0).normal(size=(80, 6)), 2, 0)[0]()
            reply = answer(name, int(n), int(d), int(k), int(seed), folder)
        except Exception as error:  # the study reports it and goes on
            reply = f"error {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        print(reply, file=channel, flush=True)


if __name__ == "__main__":
    main()
