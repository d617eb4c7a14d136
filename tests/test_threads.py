"""BLAS on one thread inside, and as it was before outside."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from tl1pca import TL1PCA
from tl1pca._threads import one_thread
from tl1pca.rows import DenseRows


def blas_threads():
    return {pool["num_threads"] for pool in ThreadpoolController().info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has no threads to set")
        yield


def test_restored_by_the_last_to_leave():
    with one_thread():
        with one_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_restored_after_an_error():
    def fail():
        with one_thread():
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert blas_threads() == {2}


def test_fits_in_other_threads_leave_it_alone():
    """Whoever entered while it was limited must not bring the limit back when it leaves."""
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_thread():
            entered.set()
            leave.wait(10)

    with one_thread():
        thread = threading.Thread(target=other)
        thread.start()
        assert entered.wait(10)
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    leave.set()
    thread.join()
    assert blas_threads() == {2}


def test_narrow_and_small_rows_ask_for_one():
    for shape, threads in (((3000, 400), {1}), ((100, 2000), {1}), ((1500, 1000), {2})):
        with DenseRows(np.empty(shape)).threads():
            assert blas_threads() == threads, shape


def test_a_fit_leaves_the_setting_alone():
    TL1PCA(1).fit(np.random.default_rng(0).normal(size=(40, 3)))
    assert blas_threads() == {2}
