"""Algebra: what goes, what stays because it would change a bit, and that the bits are the same in onnxruntime."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from primsplit.ir import Const
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.rewrites import drop_dead_code, simplify
from tests.random_programs import bits, run
from tests.recording import kinds, record

ONES, HALF = np.ones((4, 3), np.float32), np.float32(0.5)
FIRST = np.array(-2)
F32, F64, F16 = np.float32, np.float64, np.float16

GOES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "identity": (lambda x: op.Identity(x), []),
    "x * 1": (lambda x: op.Mul(x, F32(1)), []),
    "1 * x": (lambda x: op.Mul(F32(1), x), []),
    "x * ones": (lambda x: op.Mul(x, ONES), []),
    "x / 1": (lambda x: op.Div(x, F32(1)), []),
    "x ** 1": (lambda x: op.Pow(x, F32(1)), []),
    "x + -0.0": (lambda x: op.Add(x, F32(-0.0)), []),
    "-0.0 + x": (lambda x: op.Add(F32(-0.0), x), []),
    "x - 0.0": (lambda x: op.Sub(x, F32(0.0)), []),
    "-0.0 - x": (lambda x: op.Sub(F32(-0.0), x), ["Neg"]),
    "-(-x)": (lambda x: op.Neg(op.Neg(x)), []),
    "x + -y": (lambda x: op.Add(x, op.Neg(op.Exp(x))), ["Exp", "Sub"]),
    "-y + x": (lambda x: op.Add(op.Neg(op.Exp(x)), x), ["Exp", "Sub"]),
    "x - -y": (lambda x: op.Sub(x, op.Neg(op.Exp(x))), ["Exp", "Add"]),
    "-x * -y": (lambda x: op.Mul(op.Neg(x), op.Neg(op.Exp(x))), ["Exp", "Mul"]),
    "-x * 3": (lambda x: op.Mul(op.Neg(x), F32(3)), ["Mul"]),
    "-(x * 3)": (lambda x: op.Neg(op.Mul(x, F32(3))), ["Mul"]),
    "-(x + x)": (lambda x: op.Neg(op.Add(x, x)), ["Mul"]),
    "-x - x": (lambda x: op.Sub(op.Neg(x), x), ["Mul"]),
    "3 / -x": (lambda x: op.Div(F32(3), op.Neg(x)), ["Div"]),
    "|-x|": (lambda x: op.Abs(op.Neg(x)), ["Abs"]),
    "||x||": (lambda x: op.Abs(op.Abs(x)), ["Abs"]),
    "relu relu": (lambda x: op.Relu(op.Relu(x)), ["Relu"]),
    "x / 4": (lambda x: op.Div(x, F32(4)), ["Mul"]),
    "x * 2 * 4": (lambda x: op.Mul(op.Mul(x, F32(2)), F32(4)), ["Mul"]),
    "x * 2 * -1": (lambda x: op.Mul(F32(-1), op.Mul(F32(2), x)), ["Mul"]),
    "transposed twice": (lambda x: op.Transpose(op.Transpose(x, perm=[1, 0]), perm=[1, 0]), []),
    "transposed to itself": (lambda x: op.Transpose(x, perm=[0, 1]), []),
    "three axes, twice": (
        lambda x: op.Transpose(op.Transpose(op.Unsqueeze(x, [0]), perm=[2, 0, 1]), perm=[2, 0, 1]),
        ["Unsqueeze", "Transpose"],
    ),
    "reshaped and back": (lambda x: op.Reshape(op.Reshape(x, [-1]), [4, 3]), []),
    "reshaped twice": (lambda x: op.Reshape(op.Reshape(x, [12]), [3, 4]), ["Reshape"]),
    "a chain of reshapes": (lambda x: op.Squeeze(op.Reshape(op.Unsqueeze(x, [0]), [1, 4, 3]), [0]), []),
    "unsqueeze, squeeze": (lambda x: op.Squeeze(op.Unsqueeze(x, [1]), [1]), []),
    "cast to itself": (lambda x: op.Cast(x, to=F32), []),
    "cast up and back": (lambda x: op.Cast(op.Cast(x, to=F64), to=F32), []),
    "cast up and down": (lambda x: op.Cast(op.Cast(op.Floor(x), to=F64), to=np.bool_), ["Floor", "Cast"]),
    "expanded to itself": (lambda x: op.Expand(x, [4, 3]), []),
    "an operand expanded": (lambda x: op.Mul(x, op.Expand(op.ReduceMax(x, [0]), op.Shape(x))), ["ReduceMax", "Mul"]),
    "a number expanded": (lambda x: op.Add(x, op.Expand(F32(2), [4, 3])), ["Add"]),
    "a fill": (lambda x: op.Add(x, op.ConstantOfShape([4, 3], value=np.array([2.0], F32))), ["Add"]),
    "work before an expansion": (
        lambda x: op.Expand(op.Mul(op.Neg(op.Expand(op.ReduceMax(x, [0]), [4, 3])), F32(0.3)), [2, 4, 3]),
        ["ReduceMax", "Mul", "Expand"],
    ),
    "work with a scalar before an expansion": (
        lambda x: op.Mul(op.Expand(op.ReduceMax(x, [0]), [4, 3]), op.ReduceMax(x, keepdims=0)),
        ["ReduceMax", "ReduceMax", "Mul", "Expand"],
    ),
    "a test before an expansion": (
        lambda x: op.Cast(op.Equal(op.Expand(op.ReduceMax(x, [0]), [4, 3]), F32(7)), to=F32),
        ["ReduceMax", "Equal", "Cast", "Expand"],
    ),
    "an expanded side of a maximum": (
        lambda x: op.Max(op.Expand(op.ReduceMin(x, [0]), [4, 3]), x), ["ReduceMin", "Max"]
    ),
    "where true": (lambda x: op.Where(np.array(True), x, op.Exp(x)), []),
    "where false": (lambda x: op.Where(np.zeros((4, 3), bool), op.Exp(x), x), []),
    "where same": (lambda x: op.Where(op.Greater(x, HALF), x, x), []),
    "where not": (
        lambda x: op.Where(op.Not(op.Greater(x, HALF)), op.Abs(x), op.Exp(x)), ["Greater", "Abs", "Exp", "Where"]
    ),
    "where one": (lambda x: op.Where(op.Greater(x, HALF), F32(1), F32(0)), ["Greater", "Cast"]),
    "where zero": (lambda x: op.Where(op.Greater(x, HALF), F32(0), F32(1)), ["Greater", "Not", "Cast"]),
    "where minus zero": (lambda x: op.Where(op.Greater(x, HALF), F32(1), F32(-0.0)), ["Greater", "Where"]),
    "where a row is": (
        lambda x: op.Where(op.Greater(op.ReduceMax(x, [0]), HALF), np.ones((4, 3), F32), F32(0)),
        ["ReduceMax", "Greater", "Where"],
    ),
    "a distance where there is none": (
        lambda x: op.Where(op.Equal(x, HALF), F32(0), op.Abs(op.Sub(HALF, x))), ["Sub", "Abs"]
    ),
    "a size where it is none": (lambda x: op.Where(op.Equal(x, F32(0)), F32(0), op.Abs(x)), ["Abs"]),
    "a distance of two that may be infinite": (
        lambda x: op.Where(op.Equal(x, y := op.Exp(x)), F32(0), op.Abs(op.Sub(x, y))),
        ["Exp", "Equal", "Sub", "Abs", "Where"],
    ),
    "a difference, whose slope is another": (
        lambda x: op.Where(op.Equal(x, HALF), F32(0), op.Sub(x, HALF)), ["Equal", "Sub", "Where"]
    ),
    "slice of all": (lambda x: op.Slice(x, [0, 0], [4, 2**40], [0, 1]), []),
    "concat of one": (lambda x: op.Concat(x, axis=0), []),
    "split in one": (lambda x: op.Split(x, num_outputs=1, axis=0)[0], []),
    "pad by nothing": (lambda x: op.Pad(x, [0, 0, 0, 0]), []),
    "tiled once": (lambda x: op.Tile(x, [1, 1]), []),
    "max of one": (lambda x: op.Max(x), []),
    "max over an axis of 1": (lambda x: op.ReduceMax(op.ReduceMax(x, [0]), [0]), ["ReduceMax"]),
    "max over an axis of 1, dropped": (
        lambda x: op.ReduceMax(op.ReduceMax(x, [0]), [0], keepdims=0), ["ReduceMax"],
    ),
    "sum over no axes": (lambda x: op.ReduceSum(x, np.zeros(0, np.int64), noop_with_empty_axes=1), []),
    "squeezed sum": (lambda x: op.Squeeze(op.ReduceSum(x, [0]), [0]), ["ReduceSum"]),
    "dropout": (lambda x: op.Dropout(x), []),
    "a row of joined rows": (
        lambda x: op.Gather(op.Concat(op.Unsqueeze(op.Abs(x), [0]), op.Unsqueeze(x, [0]), axis=0), FIRST, axis=0),
        ["Abs"],
    ),
    "a row of joined matrices": (
        lambda x: op.Gather(op.Concat(op.Abs(x), op.Neg(x), axis=0), np.array(5), axis=0), ["Neg", "Gather"]
    ),
    "slices of a join": (
        lambda x: op.Concat(
            op.Slice(op.Concat(x, op.Abs(x), axis=1), [-3], [99], [1]),
            op.Slice(op.Concat(x, op.Abs(x), x, axis=1), [3], [9], [-1]), axis=1,
        ),
        ["Abs", "Abs", "Concat", "Concat"],
    ),
    "a join split again": (
        lambda x: op.Concat(*op.Split(op.Concat(x, op.Abs(x), axis=-1), [3, 3], axis=1, outputs=2)[::-1], axis=0),
        ["Abs", "Concat"],
    ),
    "a join split in fewer parts": (
        lambda x: op.Mul(*op.Split(op.Concat(*op.Split(x, [1, 2, 1], axis=0, outputs=3), axis=0), [3, 1], outputs=2)),
        ["Split", "Concat", "Mul"],
    ),
}  # fmt: skip


def _inputs() -> list[np.ndarray]:
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3e38, -3e38, 1.5, -2.25, 7.0]
    return [np.array(special, np.float32).reshape(4, 3)]


@pytest.mark.parametrize("name", GOES)
def test_a_rewrite_leaves_these_ops_and_the_same_bits(name: str) -> None:
    function, left = GOES[name]
    block = record(lambda x: function(x), "float32[4,3]")
    after = drop_dead_code(simplify(block))
    check_types(after)
    assert kinds(after) == left
    assert bits(run(after, _inputs())) == bits(run(block, _inputs())) or "where" in name


STAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "x + 0.0, which turns -0.0 into 0.0": (lambda x: op.Add(x, F32(0)), "float32[N,3]"),
    "x - (-0.0)": (lambda x: op.Sub(x, F32(-0.0)), "float32[N,3]"),
    "0.0 - x": (lambda x: op.Sub(F32(0), x), "float32[N,3]"),
    "x * 0, where x may be NaN": (lambda x: op.Mul(x, F32(0)), "float32[N,3]"),
    "x / 3, whose reciprocal rounds": (lambda x: op.Div(x, F32(3)), "float32[N,3]"),
    "x / 2^-149, whose reciprocal is no number": (lambda x: op.Div(x, F32(2.0**-149)), "float32[N,3]"),
    "x * ones that make it wider": (lambda x: op.Mul(x, np.ones((2, 3), F32)), "float32[3]"),
    "x * ones where N may be 1": (lambda x: op.Mul(x, np.ones((4, 3), F32)), "float32[N,3]"),
    "(x * 0.5) * 0.5, which may round twice": (lambda x: op.Mul(op.Mul(x, HALF), HALF), "float32[N,3]"),
    "(x * 2) * 0.5, which may overflow": (lambda x: op.Mul(op.Mul(x, F32(2)), HALF), "float32[N,3]"),
    "(x * 3) * 5": (lambda x: op.Mul(op.Mul(x, F32(3)), F32(5)), "float32[N,3]"),
    "a reshape that copies a size": (lambda x: op.Reshape(op.Reshape(x, [3, -1]), [0, -1, 1]), "float32[N,3]"),
    "a cast that loses": (lambda x: op.Cast(op.Cast(x, to=F16), to=F32), "float32[N,3]"),
    "integers through float64": (lambda x: op.Cast(op.Cast(x, to=F64), to=np.int64), "int64[N]"),
    "a slice backwards": (lambda x: op.Slice(x, [-1], [-(2**40)], [0], [-1]), "float32[3]"),
    "an expansion before a cast to eight bits, which have none": (
        lambda x: op.Cast(op.Expand(x, [4, 3]), to=ml_dtypes.float8_e5m2, saturate=0),
        "float32[3]",
    ),
    "an expansion that matters": (lambda x: op.Mul(op.Expand(x, [2, 3]), x), "float32[3]"),
    "a sum over an axis of 1, where -0.0 is 0.0": (lambda x: op.ReduceSum(x, [0]), "float32[1,3]"),
    "sums of sums": (lambda x: op.ReduceSum(op.ReduceSum(x, [0]), [1]), "float32[N,3]"),
    "a clip without bounds, which bounds infinity": (lambda x: op.Clip(x), "float32[N,3]"),
    "training": (lambda x: op.Dropout(x, HALF, np.array(True)), "float32[N,3]"),
    "an element of a join of pieces of unknown size": (
        lambda x: op.Gather(op.Concat(x, x, axis=0), np.array(1), axis=0),
        "float32[N,3]",
    ),
    "a slice of a join that ends inside a piece": (
        lambda x: op.Slice(op.Concat(x, x, axis=0), [0], [4], [0]),
        "float32[3,2]",
    ),
    "a slice of a join along another axis": (
        lambda x: op.Slice(op.Concat(x, x, axis=0), [0], [3], [1]),
        "float32[3,4]",
    ),
    "a join split elsewhere": (lambda x: op.Split(op.Concat(x, x, axis=0), [1, 5], axis=0, outputs=2), "float32[3,2]"),
    "some elements of a join": (lambda x: op.Gather(op.Concat(x, x, axis=0), [1], axis=0), "float32[3,2]"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_might_change_a_bit_stays(name: str) -> None:
    function, spec = STAYS[name]
    block = record(lambda x: function(x), spec)
    assert kinds(drop_dead_code(simplify(block))) == kinds(block)


def test_ops_of_two_symbols_are_not_taken_for_one() -> None:
    block = record(lambda x, y: op.Mul(x, op.Expand(y, op.Shape(x))), "float32[N]", "float32[M]")
    assert kinds(simplify(block)) == ["Shape", "Expand", "Mul"]


def test_integers_have_one_zero() -> None:
    block = record(lambda n: op.Mul(op.Add(n, np.int64(0)), np.int64(1)), "int64[N]")
    assert simplify(block).results == block.params


def test_place_and_remark_are_kept() -> None:
    block = record(lambda x: op.Div(x, F32(4)), "float32[N]")
    (made,) = simplify(block).ops
    assert made.kind == "Mul"
    assert made.place is block.ops[0].place
    assert isinstance(made.inputs[1], Const)


def test_a_block_in_which_nothing_changes_is_the_same_object() -> None:
    block = record(lambda x: op.Exp(op.Sin(x)), "float32[N]")
    assert simplify(block) is block
