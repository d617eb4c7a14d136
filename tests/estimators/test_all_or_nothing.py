"""A fit is all or nothing: what fails or is interrupted leaves the old model."""

import signal
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import tl1pca
from support import COMPOSED, ESTIMATORS, KINDS, gaussian, name, with_components
from tl1pca._progress import reporting_to
from tl1pca.estimators import _base, _subspace

every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
X = gaussian(40, 5)


def state(pca):
    """What is in the estimator, by identity."""
    return {key: id(value) for key, value in vars(pca).items()}


@every
def test_a_failing_refit_changes_nothing(estimator):
    pca = with_components(estimator, 2).fit(pd.DataFrame(X, columns=list("abcde")))
    before = state(pca)
    for bad in (np.full((9, 7), np.inf), np.ones((1, 3)), X[:, :1], "text"):
        with pytest.raises((ValueError, TypeError)):
            pca.fit(bad)
        assert state(pca) == before
    pca.transform(pd.DataFrame(X, columns=list("abcde")))


@every
@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_refit_changes_nothing(estimator, late, monkeypatch):
    """Ctrl-C as soon as the data are opened, and as late as possible."""
    pca = with_components(estimator, 2).fit(X)
    before = state(pca)

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    for module in (_base, _subspace):
        monkeypatch.setattr(module, "product" if late else "safe_factor", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pca.fit(gaussian(30, 8, seed=1))
    assert state(pca) == before


def test_a_name_that_is_gone_is_forgotten():
    pca = with_components(ESTIMATORS[0], 2).fit(pd.DataFrame(X, columns=list("abcde")))
    assert not hasattr(pca.fit(X), "feature_names_in_")


@pytest.mark.parametrize("estimator", KINDS, ids=name)  # what does it is the same for all
def test_threads_see_the_old_model_or_the_new(estimator):
    """Refits to other widths beside a thread that looks: components and features always agree."""
    pca = with_components(estimator, 2).fit(X)
    data, done, wrong = [gaussian(20, 4), X[:20]], threading.Event(), []

    def look():
        while not done.is_set():
            seen = dict(vars(pca))
            if seen["components_"].shape[1] != seen["n_features_in_"] != len(seen["mean_"]):
                wrong.append(seen)

    thread = threading.Thread(target=look)
    thread.start()
    for i in range(6):
        pca.fit(data[i % 2])
    done.set()
    thread.join()
    assert not wrong


def test_a_copy_shares_the_random_state():
    """A RandomState goes on from fit to fit, as scikit-learn has it."""
    pca = tl1pca.TL1PCA(2, solver="paper", random_state=np.random.RandomState(0))
    state = pca.random_state
    before = state.get_state()[2], tuple(state.get_state()[1])
    pca.fit(X)
    assert pca.random_state is state
    assert (state.get_state()[2], tuple(state.get_state()[1])) != before


def test_callbacks_that_raise_leave_the_old_model():
    pca = with_components(ESTIMATORS[0], 2).fit(X)
    before = state(pca)

    def fail(task, objective):
        raise RuntimeError("from a callback")

    with reporting_to(fail), pytest.raises(RuntimeError, match="from a callback"):
        pca.fit(X[:, :3])
    assert state(pca) == before


@pytest.mark.parametrize("estimator", COMPOSED, ids=name)
def test_a_failing_refit_of_what_is_composed_changes_nothing(estimator):
    y = np.arange(len(X)) % 2
    model = clone(estimator).fit(pd.DataFrame(X, columns=list("abcde")), y)
    before = state(model)
    for bad in (np.full((40, 7), np.inf), np.ones((1, 3)), "text"):
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad, y)
        assert state(model) == before
    model.transform(pd.DataFrame(X, columns=list("abcde")))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
@pytest.mark.parametrize("estimator", [*ESTIMATORS[:1], *COMPOSED], ids=name)
def test_interrupts_at_random_moments_leave_one_model(estimator):
    """The features that a model has are those that it transforms, whenever Ctrl-C came."""

    rang = False

    def interrupt(number, frame):
        nonlocal rang
        rang = True
        raise KeyboardInterrupt

    data = [gaussian(40, 5), gaussian(40, 7, seed=1)]
    model, y = clone(estimator).fit(data[0], np.arange(40) % 2), np.arange(40) % 2
    rng, caught, old = np.random.default_rng(0), 0, signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 5e-3))
                model.fit(data[i % 2], y)
            except BaseException:  # NumPy makes another error of what comes while it looks for a loop
                if not rang:
                    raise
                caught += 1
            finally:
                rang = False
                signal.setitimer(signal.ITIMER_REAL, 0)
            fitted = data[0] if model.n_features_in_ == 5 else data[1]
            assert np.isfinite(model.transform(fitted)).all()
    finally:
        signal.signal(signal.SIGALRM, old)
    assert caught > 0
