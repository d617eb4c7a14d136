"""Who listens to a fit: solvers tell of every iteration, whoever fits decides what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Told the name of the task and its objective after an iteration; True asks the solver to stop.
Listener = Callable[[str, float], bool]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def reporting_to(listener: Listener) -> Iterator[None]:
    """Have `listener` told of the iterations of this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_iteration(task: str, objective: float) -> bool:
    """Report an iteration; whether to stop."""
    listener = _listener.get()
    return listener is not None and listener(task, objective)
