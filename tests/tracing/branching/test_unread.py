"""Results of joined branches that nothing reads are dropped."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, walk

SPEC = ps.spec("float64", [3])


def ifs(block: Block) -> list[tuple[int, int]]:
    """The numbers of outputs and of results of the Ifs of a block, also of those inside of others."""
    return [(len(op.outputs), len(inner.results)) for op in walk(block) if op.kind == "If" for inner in op.blocks()]


def test_results_that_nothing_reads_are_dropped() -> None:
    def f(x: Any) -> Any:
        scale, _seen = 1.0, None
        if x[0] > 0:
            scale, _seen = np.sin(x[1]), x[2]
        return scale * x[2]

    program = ps.trace(f, SPEC)
    assert ifs(program.block) == [(1, 1), (1, 1)]
    for x in (np.array([0.4, 0.7, 2.0]), np.array([-0.4, 0.7, 2.0])):
        np.testing.assert_allclose(program(x), f(x), rtol=1e-15)


def test_a_branch_without_results_is_dropped() -> None:
    def f(x: Any) -> Any:
        if x[0] > 0:
            unread = np.exp(x)
            unread = unread + 1
        return x * x

    assert ifs(ps.trace(f, SPEC).block) == []


def test_results_inside_of_another_branch_are_dropped() -> None:
    def f(x: Any) -> Any:
        a = _b = x[0]
        if x[0] > 0:
            if x[1] > 0:
                a, _b = np.sin(x[1]), np.cos(x[1])
            else:
                a, _b = x[1], x[2]
        return a

    program = ps.trace(f, SPEC)
    assert ifs(program.block) == [(1, 1)] * 4
    for x in (np.array([0.4, 0.7, 2.0]), np.array([0.4, -0.7, 2.0]), np.array([-0.4, 0.7, 2.0])):
        np.testing.assert_allclose(program(x), f(x), rtol=1e-15)


def test_a_branch_that_raises_stays() -> None:
    def f(x: Any) -> Any:
        if x[0] > 0:
            raise ValueError("above 0")
        return x * x

    program = ps.trace(f, SPEC)
    assert len(ifs(program.block)) == 2
    np.testing.assert_array_equal(program(-np.ones(3)), np.ones(3))
    with pytest.raises(ValueError, match="above 0"):
        program(np.ones(3))


def test_sizes_that_a_dropped_result_tells_are_still_read() -> None:
    def f(x: Any) -> Any:
        kept = []
        _last = 0.0
        if x[0] > 0:
            kept.append(x[1])
            _last = x[2]
        return len(kept) * x[0] + 2.0

    program = ps.trace(f, SPEC)
    for x in (np.array([0.4, 0.7, 2.0]), np.array([-0.4, 0.7, 2.0])):
        np.testing.assert_allclose(program(x), f(x), rtol=1e-15)
