"""Traced truth values of Python's are counted, each thread for itself."""

import threading
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.tracing.handles.truths import truths


def made(function: Any) -> int:
    """How many traced truth values of Python's a function creates."""
    counts: list[int] = []

    def counted(x: Any) -> Any:
        before = truths.made
        function(x)
        counts.append(truths.made - before)
        return x

    ps.trace(counted, np.arange(3.0))
    return counts[0]


def test_a_comparison_of_a_python_number_is_counted_and_one_of_numpys_is_not() -> None:
    assert made(lambda x: x[0].item() > 1) >= 1
    assert made(lambda x: x[0] > 1) == 0
    assert made(lambda x: x > 1) == 0
    assert made(lambda x: x[0].item() + 1) == 0


def test_a_thread_counts_its_own() -> None:
    seen: list[int] = []
    made(lambda x: x[0].item() > 1)
    thread = threading.Thread(target=lambda: seen.append(truths.made))
    thread.start()
    thread.join()
    assert seen == [0]
