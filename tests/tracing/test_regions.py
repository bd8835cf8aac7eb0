"""Ops with sub-blocks have output types that hold outside of them: sizes that may differ are fresh."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Const, Type, Var, dims
from primsplit.ir.dims import Size, symbol
from primsplit.ir.errors import DtypeError
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.tracing.array import Array
from primsplit.tracing.regions import (
    ScanForm,
    Walk,
    as_declared,
    counts_alone,
    element,
    emit_if,
    emit_loop,
    emit_scan,
    joined,
    outside,
    record,
    same_everywhere,
    told_of,
    visible,
    walks_of,
    widened,
)
from tests import recording
from tests.random_programs import run

N, M = symbol("N"), symbol("M")
F32 = np.dtype("float32")


def sizes(type: Type) -> list[Any]:
    """The sizes of a type, with None for one of neither N nor M."""
    assert type.shape is not None
    return [None if isinstance(d, Size) and not dims.symbols(d) <= {"N", "M"} else d for d in type.shape]


def test_a_size_that_is_not_known_outside_is_fresh_there() -> None:
    made = outside(Type(F32, [N, M, 3]), frozenset({"N"}))
    assert [d == 3 if isinstance(d, int) else str(d) == "N" for d in made.shape or ()] == [True, False, True]
    assert outside(Type(F32, None), frozenset()) == Type(F32, None)
    assert visible([Var(Type(F32, [N, 2 * M])), Var(Type(F32, [3]))]) == {"N", "M"}


def test_a_value_of_one_side_or_the_other_has_the_sizes_that_both_have() -> None:
    known = frozenset({"N", "M"})
    assert sizes(joined(Type(F32, [N, 3, M]), Type(F32, [N, 4, N]), known)) == [N, None, None]
    assert sizes(joined(Type(F32, [N, 3]), Type(F32, [N, 3]), frozenset())) == [None, 3]
    assert joined(Type(F32, [3]), Type(F32, [3, 1]), known).shape is None
    with pytest.raises(DtypeError, match="the two sides of a branch differ"):
        recording.record(lambda x: joined(Type(F32, []), Type("float64", []), known) and x, "float32")


def test_a_carry_is_widened_where_a_step_changes_it_until_it_is_not() -> None:
    start, after = Type(F32, [2, 3]), Type(F32, [4, 3])
    once = widened(start, start, after)
    assert sizes(once) == [None, 3]
    assert widened(start, once, after) is once
    assert widened(start, start, start) is start
    assert widened(start, start, Type(F32, [2])).shape is None


def test_an_element_lacks_the_axis_that_is_walked() -> None:
    assert element(Type(F32, [2, N, 4]), Walk(1)) == Type(F32, [2, 4])
    assert element(Type(F32, [2, N, 4]), Walk(-1)) == Type(F32, [2, N])
    assert element(Type(F32, None), Walk()) == Type(F32, None)


def test_walks_are_written_where_they_differ_from_the_default() -> None:
    walks = (Walk(), Walk(1), Walk(0, reverse=True))
    told = told_of("scan_input", walks)
    assert told == {"scan_input_axes": [0, 1, 0], "scan_input_directions": [0, 0, 1]}
    assert walks_of(told, "scan_input", 3) == walks
    assert told_of("scan_output", (Walk(), Walk())) == {}
    assert walks_of({}, "scan_output", 2) == (Walk(), Walk())
    assert Walk(1, reverse=True).reversed() == Walk(1)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_scan_stacks_along_the_axis_that_it_writes(axis: int, reverse: bool) -> None:
    def program(x: Any) -> Any:
        body = record(
            "step", [Type("float64", [2]), Type("float64", [2])], lambda c, e: [op.Add(c, e).value, op.Mul(c, e).value]
        )
        form = ScanForm(body, 1, (Walk(1, reverse),), (Walk(axis),))
        return tuple(map(Array, emit_scan(form, [Const(np.ones(2))], [x.value])))

    block = recording.record(program, "float64[2,N]")
    check_types(block)
    last, stacked = block.results
    assert last.type == Type("float64", [2])
    assert stacked.type == Type("float64", [N, 2] if axis == 0 else [2, N])
    x = np.arange(6.0).reshape(2, 3)
    carry, wanted = np.ones(2), []
    for e in x.T[::-1] if reverse else x.T:
        wanted.append(carry * e)
        carry = carry + e
    found = run(block, [x])
    np.testing.assert_allclose(found[0], carry)
    np.testing.assert_allclose(found[1], np.stack(wanted, axis))


def test_a_branch_has_the_types_of_both_sides() -> None:
    def program(flag: Any, x: Any) -> Any:
        then = record("then", [], lambda: [op.Slice(x, [0], [2], [0]).value, op.Neg(x).value])
        otherwise = record("else", [], lambda: [op.Slice(x, [0], [1], [0]).value, x.value])
        return tuple(map(Array, emit_if(flag.value, then, otherwise)))

    block = recording.record(program, "bool", "float32[5,N]")
    check_types(block)
    assert [sizes(r.type) for r in block.results] == [[None, N], [5, N]]


@pytest.mark.parametrize("count", [3, 0, -2])
def test_a_counted_loop_stacks_so_many_rows(count: int) -> None:
    def program(x: Any) -> Any:
        def step(i: Any, going: Any, c: Any) -> list[Any]:
            return [going.value, op.Mul(c, 2.0).value, op.Add(c, op.Cast(i, to=np.float64)).value]

        body = record("step", [Type(np.int64, ()), Type(np.bool_, ()), x.type], step)
        return tuple(map(Array, emit_loop(Const(np.array(count)), None, body, [x.value])))

    block = recording.record(program, "float64[2]")
    stacked = block.results[1]
    assert stacked.type == Type("float64", [max(count, 0), 2])
    x = np.array([1.0, 3.0])
    found = run(block, [x])
    np.testing.assert_array_equal(found[0], x * 2.0 ** max(count, 0))
    np.testing.assert_array_equal(found[1], [x * 2.0**i + i for i in range(count)] or np.zeros((0, 2)))


def step_of(again: Any) -> Any:
    """The body of a Loop without carries, which goes on where `again(i, going)` is true."""
    found: list[Any] = []

    def program(x: Any) -> Any:
        types = [Type(np.int64, ()), Type(np.bool_, ())]
        found.append(record("step", types, lambda i, going: [again(i, going).value]))
        return x

    recording.record(program, "float32")
    return found[0]


def test_a_loop_that_a_step_may_end_does_not_count_alone() -> None:
    handed_on, ended = step_of(lambda i, going: going), step_of(lambda i, going: op.Less(i, np.int64(3)))
    true = Const(np.array(True))
    assert counts_alone(None, handed_on)
    assert counts_alone(true, handed_on)
    assert counts_alone(true, step_of(lambda i, going: op.Identity(going)))
    assert not counts_alone(Const(np.array(False)), handed_on)
    assert not counts_alone(true, ended)
    assert not counts_alone(Var(Type(np.bool_, ())), handed_on)


def test_shapes_are_the_same_only_where_that_is_proved() -> None:
    assert same_everywhere((N, 3), (N, 3))
    assert not same_everywhere((N, 3), (M, 3))
    assert not same_everywhere(None, (3,))
    assert not same_everywhere(None, None)


def test_a_value_of_a_lesser_type_is_declared_and_another_is_itself() -> None:
    wanted = Type(F32, [N])

    def program(x: Any, y: Any) -> Any:
        assert as_declared(y.value, y.type) is y.value
        return Array(as_declared(x.value, wanted))

    block = recording.record(program, "float32[M]", "float32[N]")
    assert block.results[0].type == wanted
    assert recording.kinds(block) == ["Identity"]
