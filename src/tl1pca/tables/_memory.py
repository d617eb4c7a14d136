"""Memory that a file obtains in spite of all checks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def guarded(max_memory: int) -> Iterator[None]:
    """Let the system refuse memory that a file obtains in spite of all checks (on Linux).

    Parsers take some for a moment beside the table itself.
    """
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = [bound for bound in (soft, used + 3 * max_memory + (1 << 30)) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
