"""A server for these tests, and a table with slips."""

import pytest
from sklearn.datasets import load_wine

from explore_server import Explorer

pytest.importorskip("starlette", reason="the extra explore is not installed")
pytest.importorskip("uvicorn", reason="the extra explore is not installed")


@pytest.fixture(scope="session")
def wine():
    """The wine data with four slips of the pen and a row of values in the wrong order, as CSV."""
    frame = load_wine(as_frame=True).data.copy()
    frame.loc[10, "alcohol"] = 142.3
    frame.loc[50, "ash"] = 24.3
    frame.loc[77, "proline"] = 13
    frame.loc[120, "hue"] = 10.4
    frame.iloc[150] = frame.iloc[150].to_numpy()[::-1]
    frame.insert(0, "wine", [f"wine {i + 1}" for i in range(len(frame))])
    return frame.to_csv(index=False).encode()


@pytest.fixture(scope="session")
def server(tmp_path_factory, wine):
    path = tmp_path_factory.mktemp("explore") / "wine.csv"
    path.write_bytes(wine)
    explorer = Explorer(path, "--max-memory", "24M")
    explorer.settled()
    yield explorer
    code, err = explorer.stop()
    assert code == 130
    assert "Traceback" not in err
