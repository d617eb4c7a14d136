"""Fixtures and settings of all tests."""

import os

# Before scipy is imported: scikit-learn dispatches to other array libraries only with it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from hypothesis import HealthCheck, settings

from support import ADAPTERS

settings.register_profile(
    "default", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")


@pytest.fixture(scope="session")
def data_home():
    """Folder with data that may not be redistributed; tests that need it skip without it."""
    folder = os.environ.get("TL1PCA_DATA")
    if not folder:
        pytest.skip("TL1PCA_DATA does not name a folder with the paper's data")
    return folder


@pytest.fixture(scope="session")
def dask_client():
    """Client of a cluster of two worker processes on this machine."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def threaded_client():
    """Client of a cluster in threads of this process: the same graphs and answers, nothing to start."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=ADAPTERS, ids=lambda adapter: adapter.__name__)
def adapter(request):
    """Every adapter of the port, as a function of an array and its row weights."""
    if request.param.__name__ == "dask":
        with request.getfixturevalue("threaded_client").as_current():
            yield request.param
    else:
        yield request.param
