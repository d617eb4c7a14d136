"""The command line in this process, and a table for it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from tl1pca.cli import main
from tl1pca.datasets import make_contaminated


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; gives its exit code and what it wrote to stdout and stderr."""
    monkeypatch.delenv("TL1PCA_MAX_MEMORY", raising=False)

    def call(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        assert "Traceback" not in output.err
        return SimpleNamespace(code=end.value.code or 0, out=output.out, err=output.err)

    return call


@pytest.fixture(scope="session")
def sample():
    """A hundred rows about a plane, the last twenty bad."""
    X, bad, _ = make_contaminated(100, 5, 2, fraction=0.2, random_state=0)
    order = np.argsort(bad, kind="stable")
    frame = pd.DataFrame(X[order], columns=["a", "b", "c", "d", "e"])
    frame.insert(0, "name", [f"row {i}" for i in range(1, 101)])
    return frame


@pytest.fixture
def data(tmp_path, sample):
    path = tmp_path / "data.csv"
    sample.to_csv(path, index=False)
    return path
