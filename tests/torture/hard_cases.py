"""Thousands of hard cases for all estimators, two at a time; what fails is kept by its number.

To see one again: python -m torture.hard_cases NUMBER
"""

import signal
import sys
import traceback
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from properties.cases import check, random_case
from support import ESTIMATORS, name

#: Seconds after which a case counts as hanging.
LIMIT = 120


class HangError(Exception):
    """A case took too long."""


def _hang(number, frame):
    raise HangError(f"more than {LIMIT} s")


def attempt(seed):
    """Estimator and kind of a case, and how it failed, if it did."""
    case = random_case(seed)
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(LIMIT)
    try:
        check(case)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return case, f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"
    finally:
        signal.alarm(0)
    return case, None


def torture(cases, workers=2, report=print):
    """Check the cases 0, 1, ...; counts by estimator and by kind of data, and what failed."""
    by_estimator, by_kind, failed = Counter(), Counter(), defaultdict(list)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for seed, (case, fault) in enumerate(pool.map(attempt, range(cases), chunksize=20)):
            by_estimator[name(ESTIMATORS[case.estimator])] += 1
            by_kind[case.kind] += 1
            if fault is not None:
                failed[name(ESTIMATORS[case.estimator])].append((seed, str(case), fault))
                report(f"case {seed}: {fault}\n  {case}")
            if (seed + 1) % 1000 == 0:
                report(f"{seed + 1} cases, {sum(map(len, failed.values()))} failed")
    return by_estimator, by_kind, failed


if __name__ == "__main__":
    for number in sys.argv[1:]:
        print(random_case(int(number)))
        check(random_case(int(number)))
