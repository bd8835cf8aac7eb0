"""The reference evaluator against plain NumPy, onnxruntime, and numbers worked out by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block, Const, Op, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError
from primsplit.ops import op
from primsplit.testing import evaluate, play

I64, BOOL = Type("int64", []), Type("bool", [])


def number(value: Any, dtype: Any = np.int64) -> Const:
    return Const(np.array(value, dtype))


def counting_loop(scalar: Type) -> Block:
    """n, x -> x * 2**n by a Loop, and every x on the way."""
    n, x, last, rows = Var(I64), Var(scalar), Var(scalar), Var(Type(scalar.dtype, [symbol("T")]))
    trip, going, carried, doubled, kept = Var(I64), Var(BOOL), Var(scalar), Var(scalar), Var(BOOL)
    double = Op("Add", (carried, carried), (doubled,))
    keep = Op("Identity", (going,), (kept,))
    body = Block("body", (trip, going, carried), (double, keep), (kept, doubled, doubled))
    loop = Op("Loop", (n, number(True, bool), x), (last, rows), {"body": body})
    return Block("powers", (n, x), (loop,), (last, rows))


def test_float32_is_computed_in_float64() -> None:
    program = ps.trace(lambda x: (x + np.float32(1)) - np.float32(1), ps.spec("float32", []))
    tiny = np.array(1e-10, np.float32)
    assert program.session()(tiny)[0] == 0
    (wide,) = evaluate(program.block, [tiny])
    assert wide.dtype == np.float64
    np.testing.assert_allclose(wide, tiny, rtol=1e-6)


def test_a_cast_to_float32_keeps_float64_and_one_to_an_integer_rounds() -> None:
    program = ps.trace(lambda x: (x.astype(np.float32), x.astype(np.int32)), ps.spec("float64", []))
    wide, whole = evaluate(program.block, [0.1])
    assert wide == 0.1
    assert whole.dtype == np.int32


def test_dtype_none_keeps_the_dtypes_of_the_program() -> None:
    program = ps.trace(lambda x: x.astype(np.float32), ps.spec("float64", []))
    (found,) = evaluate(program.block, [0.1], None)
    assert found.dtype == np.float32
    assert found == np.float32(0.1)


def test_a_loop_carries_and_stacks() -> None:
    last, rows = evaluate(counting_loop(Type("float64", [])), [np.int64(3), 1.5])
    assert last == 12.0
    assert rows.tolist() == [3.0, 6.0, 12.0]


def test_a_loop_of_no_trips_gives_its_input_and_empty_rows() -> None:
    last, rows = evaluate(counting_loop(Type("float32", [])), [np.int64(0), np.float32(1.5)], None)
    assert last == 1.5
    assert (rows.shape, rows.dtype) == ((0,), np.float32)


def test_a_scan_walks_backward_along_its_axes() -> None:
    row = Type("float64", [2])
    xs, start = Var(Type("float64", [2, 3])), Var(row)
    last, sums = Var(row), Var(Type("float64", [2, 3]))
    carried, x, total = Var(row), Var(row), Var(row)
    body = Block("body", (carried, x), (Op("Add", (carried, x), (total,)),), (total, total))
    attributes = {
        "body": body, "num_scan_inputs": 1, "scan_input_axes": [1], "scan_input_directions": [1],
        "scan_output_axes": [1], "scan_output_directions": [1],
    }  # fmt: skip
    scan = Op("Scan", (start, xs), (last, sums), attributes)
    block = Block("suffix_sums", (xs, start), (scan,), (last, sums))
    array = np.arange(6.0).reshape(2, 3)
    found = evaluate(block, [array, np.zeros(2)])
    np.testing.assert_array_equal(found[0], array.sum(1))
    np.testing.assert_array_equal(found[1], np.cumsum(array[:, ::-1], 1)[:, ::-1])


@pytest.mark.parametrize(("chosen", "expected"), [(True, 3.0), (False, 4.0)])
def test_a_branch_reads_the_values_around_it(chosen: bool, expected: float) -> None:
    scalar = Type("float64", [])
    condition, x, result, up, down = Var(BOOL), Var(scalar), Var(scalar), Var(scalar), Var(scalar)
    then = Block("then", (), (Op("Add", (x, number(1.0, float)), (up,)),), (up,))
    other = Block("else", (), (Op("Mul", (x, x), (down,)),), (down,))
    choose = Op("If", (condition,), (result,), {"then_branch": then, "else_branch": other})
    assert evaluate(Block("f", (condition, x), (choose,), (result,)), [chosen, 2.0])[0] == expected


def test_a_call_runs_its_body() -> None:
    @ps.primitive
    def twice(x: Any) -> Any:
        return x + x

    program = ps.trace(lambda x: twice(x) * 3.0, ps.spec("float64", [2]))
    assert [o.kind for o in program.block.ops] == ["call::twice", "Mul"]
    assert evaluate(program.block, [np.array([1.0, 2.0])])[0].tolist() == [6.0, 12.0]


def test_play_shows_each_op_with_its_values_in_order() -> None:
    program = ps.trace(lambda x: np.exp(x) * 2.0, ps.spec("float64", []))
    steps = [(o.kind, float(values[0])) for o, values in play(program.block, [0.0])]
    assert steps == [("Exp", 1.0), ("Mul", 2.0)]


def test_play_shows_the_ops_of_a_loop_once_a_trip() -> None:
    kinds = [o.kind for o, _ in play(counting_loop(Type("float64", [])), [np.int64(2), 1.0])]
    assert kinds == ["Add", "Identity", "Add", "Identity", "Loop"]


@pytest.mark.parametrize("one", [np.array, lambda n: np.array([n])])
def test_a_number_may_be_a_vector_of_one_element(one: Callable[[Any], Any]) -> None:
    def chosen(boxes: Any, scores: Any) -> Any:
        picks = op.NonMaxSuppression(boxes, scores, one(2), one(np.float32(0.5)), one(np.float32(0.0)))
        return op.OneHot(picks[:, 2], one(4), np.array([0.0, 1.0]))

    program = ps.trace(chosen, ps.spec("float32", [1, 3, 4]), ps.spec("float32", [1, 1, 3]))
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], np.float32)
    scores = np.array([[[0.5, 0.9, 0.7]]], np.float32)
    expected = np.eye(4)[[1, 2]]
    for found in (evaluate(program.block, [boxes, scores])[0], program.session()(boxes, scores)[0]):
        np.testing.assert_array_equal(found, expected)


def test_an_operator_that_no_reference_has_is_told() -> None:
    x = Var(Type("float64", [1]))
    strange = Op("primsplit.unknown::Strange", (x,), (Var(x.type),))
    with pytest.raises(PrimsplitError, match=r"onnx\.reference does not run primsplit\.unknown::Strange"):
        evaluate(Block("f", (x,), (strange,), strange.outputs), [np.ones(1)])
