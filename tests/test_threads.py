"""BLAS on one thread inside, and as it was before outside; forks, threads and interrupts included."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController, threadpool_limits

import tl1pca._threads as threads_module
from support import COMPOSED, ESTIMATORS, KINDS, gaussian, name, with_components
from tl1pca import TL1PCA
from tl1pca._threads import _LIMIT, one_thread
from tl1pca.rows import DenseRows


def blas_threads():
    return {pool["num_threads"] for pool in ThreadpoolController().info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS has no threads to set")
        with one_thread():  # which looks for the libraries, once
            pass
        yield
        assert blas_threads() == {2}


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


def test_the_last_of_all_threads_restores_it():
    """Whoever fits on after the first has left is still on one thread."""
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
    assert blas_threads() == {1}
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


# ---------------------------------------------------------------- threads
def same_at_the_same_time(work, data):
    serial = [work(X) for X in data]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, data * 2))
    assert together == serial * 2


@pytest.mark.parametrize("estimator", KINDS, ids=name)  # torture.load shares all of them among threads
def test_fits_at_the_same_time_give_the_bits_of_serial_ones(estimator):
    """Sizes at which BLAS would share products among its threads, and so add in another order."""
    tall = type(estimator).__name__.startswith(("L1Rec", "L1Best"))
    data = [gaussian(*((60, 6) if tall else (400 + 20 * i, 60)), seed=i) for i in range(2)]
    same_at_the_same_time(lambda X: with_components(estimator, 2).fit(X).components_.tobytes(), data)


@pytest.mark.parametrize("estimator", COMPOSED, ids=name)
def test_composed_fits_at_the_same_time_give_the_bits_of_serial_ones(estimator):
    data = [gaussian(120 + 20 * i, 40, seed=i) for i in range(2)]
    kernel = type(estimator).__name__ == "KernelizedPCA"
    few = clone(estimator).set_params(**{"estimator": TL1PCA(2)} if kernel else {"n_components": 2})

    def work(X):
        return clone(few).fit(X, np.arange(len(X)) % 3).transform(X).tobytes()

    same_at_the_same_time(work, data)


# ---------------------------------------------------------------- interrupts
class _InterruptedError(BaseException):
    """In the place of Ctrl-C, at a line of our choice."""


def interrupted_after(lines, block):
    """Run a block that is interrupted after so many lines of _threads.py; whether it got that far.

    A tracer is also told of the way out of a ``with``, where no signal is handled; that is left out.
    """
    left, withs = lines, set()

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename == threads_module.__file__:
            place = (id(frame), frame.f_lineno)
            if event == "call":
                withs.difference_update({known for known in withs if known[0] == id(frame)})
            if event == "line" and frame.f_code.co_name != "__del__" and place not in withs:
                withs.add(place)
                left -= 1
                if left == 0:
                    raise _InterruptedError
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        block()
    except _InterruptedError:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_line_leaves_nothing_behind():
    def block():
        with one_thread():
            pass

    lines = 1
    while interrupted_after(lines, block):
        assert blas_threads() == {2}, lines
        assert not _LIMIT._inside, lines
        with one_thread():
            assert blas_threads() == {1}, lines
        lines += 1
    assert lines > 15
    with ThreadPoolExecutor(1) as pool:  # the lock is free
        assert pool.submit(_LIMIT._lock.acquire, timeout=5).result()
        pool.submit(_LIMIT._lock.release).result()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")
def test_ctrl_c_at_random_moments():
    def interrupt(number, frame):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    rng, caught = np.random.default_rng(0), 0
    try:
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 3e-4))
                for _ in range(1000):
                    with one_thread():
                        pass
            except KeyboardInterrupt:
                caught += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert caught > 200
    with one_thread():  # which completes what an interrupt within an interrupt left
        assert blas_threads() == {1}


# ---------------------------------------------------------------- forks
def in_child(work):
    """What `work()` gives in a forked child: its exit code, or "hung"."""
    child = os.fork()
    if child == 0:
        os._exit(work())
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def fit_in_child():
    if blas_threads() != {2}:
        return 3
    TL1PCA(1).fit(gaussian(20, 4))
    return 0 if blas_threads() == {2} else 4


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_forks_beside_threads_that_fit():
    """A child is born while others hold the lock or the limit: it fits, with all threads of BLAS."""
    stop = threading.Event()
    X = gaussian(30, 4)

    def fit():
        while not stop.is_set():
            clone(ESTIMATORS[0]).set_params(n_components=1).fit(X)

    def switch():
        while not stop.is_set():
            with one_thread():
                pass

    threads = [threading.Thread(target=target) for target in (fit, fit, switch, switch)]
    for thread in threads:
        thread.start()
    try:
        answers = [in_child(fit_in_child) for _ in range(8)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    # One may be lost to a lock of OpenBLAS, as with NumPy alone (torture.forks); to ours it was three of 11.
    assert set(answers) <= {0, "hung"}
    assert answers.count("hung") <= 1


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_a_child_of_a_thread_that_is_inside_stays_inside():
    with one_thread():

        def work():
            return int(blas_threads() != {1})

        assert in_child(work) == 0
    assert in_child(lambda: int(blas_threads() != {2})) == 0
