"""BLAS on one thread, where its own threads do harm.

They are woken for products of a few microseconds, and after a product they wait
for the next one spinning: on few cores, or on a busy machine, that takes longer
than the product, and it takes the cores from threads of our own.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["is_limited", "one_thread"]


class _Context:
    """One time inside."""

    def __enter__(self) -> None:
        _LIMIT.enter(self)

    def __exit__(self, *error: object) -> None:
        _LIMIT.leave(self)


class one_thread(_Context):  # noqa: N801
    """Context in which BLAS uses one thread.

    The setting is one for the process: the first to enter, in whatever thread,
    changes it, and the last to leave restores it, so that fits at the same
    time give the bits that they give one after the other. A context that was
    not left, because Ctrl-C came between entering it and its block, is left
    when it is forgotten.
    """

    def __del__(self) -> None:
        _LIMIT.leave(self)


class _Limit:
    """Who is inside, and what was there before.

    Most libraries have one setting for the process; those on OpenMP have one
    for each thread. An interrupt may come between any two lines: whoever comes
    next, at the latest when the interrupted context is forgotten, completes
    what was begun.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a context may be forgotten while another one is entered
        self._inside: dict[int, int] = {}  # contexts, with their threads
        #: Settings to restore, and whether they are changed: of the process (None) and of threads.
        self._before: dict[int | None, list[tuple[Any, int]]] = {}
        self._limited: set[int | None] = set()
        self._libraries: list[Any] | None = None

    def enter(self, context: _Context) -> None:
        with self._lock:
            self._inside[id(context)] = threading.get_ident()
            self._settle()

    def leave(self, context: _Context) -> None:
        with self._lock:
            self._inside.pop(id(context), None)
            self._settle()
            # Without __del__: an interrupt that came in there would be swallowed. Free-threaded Python stops
            # all threads for this, and a fork just then leaves a child that hangs; forks wait for the lock.
            context.__class__ = _Context

    def holds(self, thread: int) -> bool:
        """Whether a thread is inside and the libraries are set; without the lock, one look at a set."""
        return thread in self._limited

    def _settle(self) -> None:
        """Bring the libraries to where they should be; may be begun again wherever it was left."""
        here = threading.get_ident()
        for scope in (None, here):
            inside = self._inside if scope is None else here in self._inside.values()
            if inside and scope not in self._limited:
                if scope not in self._before:
                    self._before[scope] = [(library, library.num_threads) for library in self._blas(scope)]
                for library, _ in self._before[scope]:
                    _set(library, 1)
                self._limited.add(scope)
            elif not inside and scope in self._before:
                self._limited.discard(scope)
                for library, threads in self._before[scope]:
                    _set(library, threads)
                del self._before[scope]

    def _blas(self, scope: int | None) -> list[Any]:
        if self._libraries is None:  # looks through all loaded libraries: once is enough
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return [library for library in self._libraries if _has_own_threads(library) is (scope is not None)]

    # ---------------------------------------------------------------- fork
    def before_fork(self) -> None:
        self._lock.acquire()  # nothing is half done in the child

    def after_fork_in_parent(self) -> None:
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """The threads that fitted are not in the child: what they are inside of is over."""
        self._lock = threading.RLock()
        here = threading.get_ident()
        self._inside = {context: thread for context, thread in self._inside.items() if thread == here}
        self._before = {scope: value for scope, value in self._before.items() if scope in (None, here)}
        self._limited &= {None, here}
        self._settle()


def _has_own_threads(library: Any) -> bool:
    """Whether every thread that calls the library has threads of its own, and its own setting."""
    return getattr(library, "threading_layer", None) == "openmp" and library.internal_api == "openblas"


def _set(library: Any, threads: int) -> None:
    # threadpoolctl 3.8 lets one thread alone change what is one for the process; here the lock sees to that.
    give_up = getattr(library, "clear_controlling_thread", lambda force: None)
    give_up(force=True)
    library.set_num_threads(threads)
    give_up(force=True)


_LIMIT = _Limit()


def is_limited() -> bool:
    """Whether this thread is inside such a context: one more, left before that, would change nothing."""
    return _LIMIT.holds(threading.get_ident())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LIMIT.before_fork,
        after_in_parent=_LIMIT.after_fork_in_parent,
        after_in_child=_LIMIT.after_fork_in_child,
    )
