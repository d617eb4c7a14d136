"""Callbacks as scikit-learn has them since 1.9, and `verbose` for every version."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from .._progress import reporting_to

__all__ = ["CallbackSupportMixin", "reporting_to_callbacks", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method as it is."""
        return method


@contextmanager
def reporting_to_callbacks(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """Callbacks and `verbose` of an estimator hear of every iteration of the fit inside.

    Every iteration is a task without subtasks, named after what is solved. A
    callback that returns True ends the solve it was told of.
    """
    context = None
    if hasattr(estimator, "_init_callback_context"):
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    silent = not estimator.verbose and not getattr(estimator, "_skl_callbacks", None)
    count = 0

    def listen(task: str, objective: float) -> bool:
        nonlocal count
        count += 1
        if estimator.verbose:
            line = f"[{type(estimator).__name__}] iteration {count}, {task}: objective {objective:.8g}"
            print(line, file=sys.stdout, flush=True)
        if context is None:
            return False
        part = context.subcontext(task_name=task)
        part.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        return bool(part.call_on_fit_task_end(estimator=estimator, X=X, y=y))

    with nullcontext() if silent else reporting_to(listen):
        yield
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
