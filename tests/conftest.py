"""Fixtures and settings of all tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

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
