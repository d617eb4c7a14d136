"""Run something in a child of its own, with a clock and a meter for memory."""

import os
import signal
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path

SECONDS = 30
PER_INPUT = 5  # seconds of processor time for a single one of many


class TooSlowError(BaseException):
    """An input took longer than it may; no Exception, because readers turn those into errors of their own."""


@contextmanager
def timed(seconds=PER_INPUT):
    """Raise where what follows takes more seconds of processor time; loops that never end do."""

    def stop(number, frame):
        raise TooSlowError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def isolated(action, *, seconds=SECONDS, most_memory=None):
    """What went wrong when `action()` ran in a forked child, or None.

    Parameters
    ----------
    action : callable
        May raise; that counts as wrong.
    seconds : int
        Of processor time, after which the child is ended; a child that waits
        for something is ended after twenty times as long.
    most_memory : int, optional
        Bytes by which its resident memory may grow.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(20 * seconds)
        message = ""
        try:
            before = _status("VmRSS")
            action()
            grown = _status("VmHWM") - before
            if most_memory is not None and grown > most_memory:
                message = f"took {grown >> 20} MiB of memory, {most_memory >> 20} were allowed"
        except BaseException:
            message = traceback.format_exc()
        os.write(writing, message.encode(errors="backslashreplace")[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        message = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        slow = {signal.SIGPROF: f"took longer than {seconds} s", signal.SIGALRM: "hung"}
        return slow.get(number, f"died of signal {number}")
    return message or None


def _status(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise OSError(f"no {name} in /proc/self/status")
