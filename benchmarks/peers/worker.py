"""The Python worker: see ``peers/__init__.py`` for what goes in and out. Needs no tl1pca unless asked for it.

A method maps (X, k, seed) to a fit without arguments, the part that is timed; what the fit returns
is turned into components (k x d) and, where the method flags outliers, flags afterwards.
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
    """An estimator of this package, which flags where it has `flags_`."""

    def prepare(X, k, seed):
        import tl1pca

        estimator = getattr(tl1pca, name)(k, **options)
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=seed)

        def result(fitted):
            return fitted.components_, (fitted.flags_ > 0 if hasattr(fitted, "flags_") else None)

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


def robpy_map(fitted, X):
    """Components and flags by the distances and cut-offs of robpy's own outlier map."""
    from robpy.pca.base import get_od_cutoff
    from scipy.stats import chi2

    orthogonal = np.linalg.norm((X - fitted.location_) - fitted.project(X), axis=1)
    score2 = np.sum(fitted.transform(X) ** 2 / fitted.explained_variance_, axis=1)
    flags = (orthogonal > get_od_cutoff(orthogonal)) | (score2 > chi2.ppf(0.975, fitted.n_components))
    return fitted.components_.T, flags


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
    components, flags = result(fitted)
    parts = [np.ravel(components)] + ([] if flags is None else [flags])
    np.concatenate(parts, dtype=np.float64).tofile(Path(folder) / "out.bin")
    return f"ok {wall} {cpu} {len(components)} {int(flags is not None)}"


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
