import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler

from tl1pca import (
    TL1,
    TL1PCA,
    Cauchy,
    L1ReconstructionPCA,
    Lp,
    ResidualPCA,
    SparseLpPCA,
    TL1SubspacePCA,
)
from tl1pca.datasets import make_contaminated
from tl1pca.diagnostics import principal_angles
from tl1pca.scorers import predicted_cells

FOLDS = KFold(5, shuffle=True, random_state=0)


@pytest.mark.parametrize("kind", ["clean", "cluster", "line", "scattered"])
def test_a_search_finds_the_number_of_components(kind):
    X = make_contaminated(250, 15, 3, kind=kind, fraction=0.2, random_state=2)[0]
    grid = {"n_components": [1, 2, 3, 4, 5, 6]}
    search = GridSearchCV(TL1SubspacePCA(random_state=0), grid, scoring=predicted_cells, cv=FOLDS).fit(X)
    assert search.best_params_ == {"n_components": 3}


@pytest.mark.parametrize("kind", ["cluster", "line"])
def test_a_search_over_methods_finds_the_robust_one(kind):
    X, _, axes = make_contaminated(250, 15, 3, kind=kind, fraction=0.2, random_state=2)
    pipe = Pipeline([("pca", PCA(3))])
    grid = {"pca": [PCA(3), TL1PCA(3, random_state=0), TL1SubspacePCA(3, random_state=0)]}
    search = GridSearchCV(pipe, grid, scoring=predicted_cells, cv=FOLDS).fit(X)
    assert type(search.best_params_["pca"]) is TL1SubspacePCA
    assert principal_angles(search.best_estimator_["pca"], axes.T)[0] < 10


@pytest.mark.parametrize("seed", [3, 5])
def test_a_search_over_operators_and_their_parameter(seed):
    X, _, axes = make_contaminated(200, 12, 2, kind="scattered", fraction=0.2, random_state=seed)
    operators = {"operator": [Lp(p=2), Lp(p=1), Cauchy(c=1.0)]}
    scales = {"operator__a": [0.1, 1.0, 10.0, 100.0]}
    for pca, grid in ((ResidualPCA(2), operators), (ResidualPCA(2, operator=TL1()), scales)):
        search = GridSearchCV(pca, grid, scoring=predicted_cells, cv=FOLDS).fit(X)
        ((name, values),) = grid.items()
        angles = [
            principal_angles(clone(pca).set_params(**{name: value}).fit(X), axes.T)[0] for value in values
        ]
        assert principal_angles(search.best_estimator_, axes.T)[0] < min(angles) + 1.0 < max(angles)


def test_the_likelihood_of_scikit_learn_takes_the_largest_model():
    X = make_contaminated(250, 15, 3, kind="line", fraction=0.2, random_state=2)[0]
    grid = {"n_components": [1, 2, 3, 4, 5, 6]}
    assert GridSearchCV(PCA(), grid, cv=FOLDS).fit(X).best_params_["n_components"] > 3


def test_bad_rows_held_out_do_not_matter():
    X, bad, _ = make_contaminated(300, 12, 2, kind="cluster", fraction=0.2, random_state=0)
    pca = TL1SubspacePCA(2, random_state=0).fit(X)
    assert predicted_cells(pca, X) == pytest.approx(predicted_cells(pca, X[~bad]), abs=0.02)


def test_oblique_components_pipelines_and_missing_cells():
    X = make_contaminated(100, 8, 2, kind="clean", random_state=0)[0]
    sparse = SparseLpPCA(2, n_nonzero=3).fit(X)
    assert np.isfinite(predicted_cells(sparse, X))
    pipe = Pipeline([("scale", RobustScaler()), ("pca", TL1SubspacePCA(2, random_state=0))])
    assert np.isfinite(cross_val_score(pipe, X, scoring=predicted_cells, cv=3)).all()
    with pytest.raises(TypeError, match="KMeans has no components_"):
        predicted_cells(KMeans(2, n_init=1).fit(X), X)


def test_missing_cells_are_predicted_from_and_not_scored():
    """A cell that is not there has no error, and those that are have nearly the errors of complete rows."""
    X = make_contaminated(300, 12, 2, kind="clean", random_state=0)[0]
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    holes[7] = np.nan
    pca = L1ReconstructionPCA(2).fit(X)
    assert predicted_cells(pca, holes) == pytest.approx(predicted_cells(pca, X), abs=0.03)
