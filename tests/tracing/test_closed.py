"""A traced value is refused outside of its trace, and in another thread."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, TraceError

X = np.array([1.0, 2.0, 3.0])


def total(x: Any) -> Any:
    return np.sum(x)


def test_a_value_that_left_its_trace_is_refused() -> None:
    leaked: list[Any] = []

    def f(x: Any) -> Any:
        leaked.append(x * 2.0)
        return total(x)

    ps.grad(f)(X)
    with pytest.raises(TraceError, match="outside the function"):
        ps.trace(lambda x: x + leaked[0], X)
    with pytest.raises(TraceError):
        leaked[0] + 1.0


def test_an_inner_value_used_outside_of_its_inner_trace_is_refused() -> None:
    kept: list[Any] = []

    def inner(y: Any) -> Any:
        kept.append(y * 2.0)
        return y

    def outer(x: Any) -> Any:
        ps.grad(inner)(x)
        return x + kept[0]

    with pytest.raises(TraceError, match="outside the function"):
        ps.trace(outer, 1.0)


@pytest.mark.parametrize("work", [lambda x: x[0] ** 2, np.sum, lambda x: x.sum() + 1, lambda x: (2 * x).sum()])
def test_a_traced_value_in_another_thread_is_refused_by_its_cause(work: Any) -> None:
    def pooled(x):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(work, x).result()

    with pytest.raises(PrimsplitError, match="thread"):
        ps.grad(pooled)(np.ones(3))
