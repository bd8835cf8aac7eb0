"""The recordings of a thread: the innermost is current, and an error leaves none behind."""

import threading
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError, TraceError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.stack import (
    current,
    dim_at,
    fresh_stack,
    is_open,
    is_recording,
    levels,
    primitive_part,
    readable_sizes,
    recorded_ops,
    recording,
    remarked,
    resumed,
)

X = np.array([1.0, 2.0, 3.0])


def total(x: Any) -> Any:
    return np.sum(x)


@pytest.mark.parametrize("level", ["function", "rule", "pullback", "inner"])
def test_an_exception_leaves_the_stack_of_recordings_clean(level: str) -> None:
    class Boom(Exception):
        pass

    def fail(at: str) -> None:
        if at == level:
            raise Boom

    @ps.primitive
    def double(x: Any) -> Any:
        return x * 2.0

    @ps.rrule(double)
    def rule(x: Any) -> Any:
        fail("rule")

        def pullback(dy: Any) -> Any:
            fail("pullback")
            return (dy * 2.0,)

        return double(x), pullback

    def f(x: Any) -> Any:
        fail("function")
        ps.grad(lambda y: fail("inner") or total(y))(x)
        return total(double(x))

    with pytest.raises(Boom):
        ps.grad(f)(X)
    assert not tracing.is_recording()
    assert ps.grad(lambda x: total(x * x))(X).tolist() == (2 * X).tolist()


def test_the_innermost_recording_is_current_and_values_of_the_outer_ones_are_open() -> None:
    assert not is_recording()
    with recording() as outer:
        with recording(explores=False) as inner:
            assert current() is inner
            assert [*levels()] == [inner, outer]
            assert is_open(outer)
            assert not inner.explores
            with resumed(outer):
                assert current() is outer
                assert not is_open(inner)
            with fresh_stack():
                assert not is_recording()
        assert current() is outer
        assert not is_open(inner)
        with recording() as again:
            assert again.explores
    with pytest.raises(TraceError, match="nothing is being traced here"):
        current()


def test_a_recording_is_of_its_thread() -> None:
    seen: list[bool] = []
    with recording():
        thread = threading.Thread(target=lambda: seen.append(is_recording()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_ops_are_told_from_the_outermost_recording_on() -> None:
    with recording() as outer:
        x = Array(outer.param(Type("float32", [3])))
        op.Exp(x)
        with recording():
            op.Neg(x)
            op.Sin(x)
            assert [o.kind for o in recorded_ops()] == ["Exp", "Neg", "Sin"]
        assert [o.kind for o in recorded_ops()] == ["Exp"]


def test_a_remark_is_that_of_the_ops_inside() -> None:
    with recording() as into:
        x = Array(into.param(Type("float32", [3])))
        with remarked("checked"):
            op.Exp(x)
        op.Exp(x)
    assert [o.remark for o in into.ops] == ["checked", ""]


def test_what_was_recorded_since_a_snapshot_is_forgotten() -> None:
    with recording() as into:
        x = Array(into.param(Type("float32", [symbol("N")])))
        op.Exp(x)
        then = into.snapshot()
        op.Neg(op.NonZero(x))
        assert len(readable_sizes()) == 2
        into.restore(then)
        assert [o.kind for o in into.ops] == ["Exp"]
        assert readable_sizes() == {"N"}


def test_a_size_is_read_from_the_axis_that_has_it_alone() -> None:
    n = symbol("N")
    with recording() as into:
        whole, part = into.param(Type("float32", [4, 2 * n + 2])), into.param(Type("float32", [n, 3]))
        assert into.sources["N"] == (part, 0)
        assert into.sources["2*N + 2"] == (whole, 1)
        assert dim_at(into.sources["2*N + 2"]) == 2 * n + 2
        with pytest.raises(PrimsplitError, match="no symbol"):
            dim_at((whole, 0))


def test_the_part_of_a_size_that_it_is_solved_for_has_no_common_divisor() -> None:
    n, m = symbol("N"), symbol("M")
    assert str(primitive_part(n)) == "N"
    assert str(primitive_part(4 * n + 6 * m + 1)) == str(2 * n + 3 * m)
    assert str(primitive_part(-2 * n + 7)) == "N"
