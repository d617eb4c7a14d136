"""Who watches a fit: scikit-learn's callbacks, and `verbose`."""

import numpy as np
import pytest
from sklearn.base import clone

from support import ESTIMATORS, gaussian, name, with_components
from tl1pca import L1PCA, TL1PCA, L1BestFitPCA, TL1SubspacePCA

X = gaussian(60, 6)
callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")


class Recorder:
    """Remembers the tasks it is told of; stops after some of them."""

    def __init__(self, stop_after=None):
        self.tasks, self.stop_after, self.torn_down = [], stop_after, False

    def setup(self, estimator, context):
        self.torn_down = False

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None):
        assert X is not None
        self.tasks.append(context.task_name)
        return self.stop_after is not None and len(self.tasks) >= self.stop_after


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_callbacks_hear_of_iterations_and_of_the_end(estimator):
    recorder = Recorder()
    pca = with_components(estimator, 2).set_callbacks(recorder).fit(X)
    assert recorder.tasks[-1] == "fit"
    assert recorder.torn_down
    if not isinstance(pca, L1BestFitPCA):  # linear programs, solved without iterations of ours
        assert len(recorder.tasks) > 1
    np.testing.assert_array_equal(pca.components_, with_components(estimator, 2).fit(X).components_)


def test_a_callback_may_stop_a_solve():
    slow = TL1PCA(1, a=1.0, solver="paper", random_state=0)
    assert clone(slow).fit(X).n_iter_ > 2
    with pytest.warns(UserWarning, match="did not converge"):
        stopped = clone(slow).set_callbacks(Recorder(stop_after=2)).fit(X)
    assert stopped.n_iter_ == 2
    assert np.isfinite(stopped.components_).all()


def test_a_failing_fit_is_torn_down():
    recorder = Recorder()
    pca = L1PCA(2).set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN"):
        pca.fit(np.full((5, 3), np.nan))
    assert recorder.torn_down


def test_progress_bar(capsys):
    pytest.importorskip("rich")
    TL1SubspacePCA(2, random_state=0).set_callbacks(callback.ProgressBar()).fit(X)
    assert "TL1SubspacePCA" in capsys.readouterr().out


@pytest.mark.parametrize("estimator", [TL1PCA(2), TL1SubspacePCA(2, random_state=0)], ids=name)
def test_verbose_prints_the_objective(estimator, capsys):
    pca = clone(estimator).set_params(verbose=True).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"[{type(pca).__name__}] iteration 1,")
    assert "objective" in lines[0]
    clone(estimator).fit(X)
    assert capsys.readouterr().out == ""
