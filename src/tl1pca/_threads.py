"""BLAS on one thread, where its own threads do harm.

They are woken for products of a few microseconds, and after a product they wait
for the next one spinning: on few cores, or on a busy machine, that takes longer
than the product, and it takes the cores from threads of our own.
"""

from __future__ import annotations

import functools
import threading

from threadpoolctl import ThreadpoolController


class _Limit:
    """One thread for BLAS while the thread that entered first is inside.

    The setting is one for the process. Fits in other threads at the same time
    leave it alone, so that whoever changed it restores what was there before.
    """

    def __init__(self) -> None:
        self._controller = ThreadpoolController()  # looks through all loaded libraries: once is enough
        self._lock, self._depth = threading.Lock(), 0
        self._owner: int | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._owner is None:
                self._owner = threading.get_ident()
                self._limiter = self._controller.limit(limits=1, user_api="blas")
                self._limiter.__enter__()
            if self._owner == threading.get_ident():
                self._depth += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            if self._owner == threading.get_ident():
                self._depth -= 1
                if self._depth == 0:
                    self._limiter.__exit__(*error)
                    self._owner = None


@functools.cache
def one_thread() -> _Limit:
    """The context in which BLAS uses one thread: one object for the process, entered again and again."""
    return _Limit()
