"""Ops that move elements: those that go or come after others, and those that matter."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from primsplit.ir import Const
from primsplit.ops import op
from primsplit.rewrites import drop_dead_code, simplify
from primsplit.tracing.broadcasting import of_shape
from tests.random_programs import run
from tests.recording import kinds, record
from tests.rewrites.rewrites.simplified import F32, check_leaves, check_stays

GOES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "an operand with a leading axis of 1": (
        lambda x: op.Mul(x, op.Unsqueeze(op.ReduceMax(x, [0], keepdims=0), [0])), ["ReduceMax", "Mul"]
    ),
    "the largest of one": (lambda x: op.ReduceMax(op.ReduceMax(x), keepdims=0), ["ReduceMax", "Squeeze"]),
    "the largest of one, kept": (lambda x: op.ReduceMax(op.ReduceMax(x)), ["ReduceMax"]),
    "no axes, and no reduction": (lambda x: op.ReduceSum(x, noop_with_empty_axes=1), []),
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
    "expanded to itself": (lambda x: op.Expand(x, [4, 3]), []),
    "an operand expanded": (lambda x: op.Mul(x, op.Expand(op.ReduceMax(x, [0]), op.Shape(x))), ["ReduceMax", "Mul"]),
    "a number expanded": (lambda x: op.Add(x, op.Expand(F32(2), [4, 3])), ["Add"]),
    "a number expanded and reshaped": (
        lambda x: op.Add(x, op.Unsqueeze(op.Expand(F32(2), op.Shape(x, end=1)), [1])), ["Add"]
    ),
    "work on a number expanded and reshaped": (
        lambda x: op.Add(x, op.Mul(op.Reshape(op.Expand(F32(2), op.Shape(x, end=1)), [4, 1]), np.full((1, 1), F32(3)))),
        ["Mul", "Add"],
    ),
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
    "slice of all": (lambda x: op.Slice(x, [0, 0], [4, 2**40], [0, 1]), []),
    "split in one": (lambda x: op.Split(x, num_outputs=1, axis=0)[0], []),
    "pad by nothing": (lambda x: op.Pad(x, [0, 0, 0, 0]), []),
    "tiled once": (lambda x: op.Tile(x, [1, 1]), []),
    "max over an axis of 1": (lambda x: op.ReduceMax(op.ReduceMax(x, [0]), [0]), ["ReduceMax"]),
    "max over an axis of 1, dropped": (
        lambda x: op.ReduceMax(op.ReduceMax(x, [0]), [0], keepdims=0), ["ReduceMax"],
    ),
    "sum over no axes": (lambda x: op.ReduceSum(x, np.zeros(0, np.int64), noop_with_empty_axes=1), []),
    "squeezed sum of an axis counted from the last": (
        lambda x: op.Squeeze(op.ReduceSum(x, [-1]), [1]), ["ReduceSum"]
    ),
    "squeezed sum": (lambda x: op.Squeeze(op.ReduceSum(x, [0]), [0]), ["ReduceSum"]),
}  # fmt: skip


@pytest.mark.parametrize("name", GOES)
def test_a_rewrite_leaves_these_ops_and_the_same_bits(name: str) -> None:
    check_leaves(*GOES[name], is_exact="where" not in name)


STAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "a squeeze of some of the reduced axes": (lambda x: op.Squeeze(op.ReduceMax(x, [0, 2]), [0]), "float32[1,2,3]"),
    "a squeeze of an axis beside the reduced one": (lambda x: op.Squeeze(op.ReduceMax(x, [1]), [0]), "float32[1,2,3]"),
    "a slice of another step": (lambda x: op.Slice(x, [0], [9], [0], [2]), "float32[1]"),
    "a split in two": (lambda x: op.Split(x, num_outputs=2, axis=0), "float32[4]"),
    "a reshape that copies a size": (lambda x: op.Reshape(op.Reshape(x, [3, -1]), [0, -1, 1]), "float32[N,3]"),
    "a slice backwards": (lambda x: op.Slice(x, [-1], [-(2**40)], [0], [-1]), "float32[3]"),
    "an expansion before a cast to eight bits, which have none": (
        lambda x: op.Cast(op.Expand(x, [4, 3]), to=ml_dtypes.float8_e5m2, saturate=0),
        "float32[3]",
    ),
    "an expansion that matters": (lambda x: op.Mul(op.Expand(x, [2, 3]), x), "float32[3]"),
    "a sum over an axis of 1, where -0.0 is 0.0": (lambda x: op.ReduceSum(x, [0]), "float32[1,3]"),
    "sums of sums": (lambda x: op.ReduceSum(op.ReduceSum(x, [0]), [1]), "float32[N,3]"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_might_change_a_bit_stays(name: str) -> None:
    check_stays(*STAYS[name])


def test_a_squeeze_in_the_place_of_a_reduction_names_its_axes() -> None:
    block = simplify(record(lambda x: op.ReduceMax(op.ReduceMax(x), keepdims=0), "float64[3,2]"))
    (squeeze,) = (each for each in block.ops if each.kind == "Squeeze")
    assert isinstance(squeeze.inputs[1], Const)
    np.testing.assert_array_equal(squeeze.inputs[1].numpy(), [0, 1])  # a batch has one axis more


SHAPES: dict[str, Callable[..., Any]] = {
    "of a sum": lambda x: op.Shape(op.Exp(op.ReduceSum(x, [1], keepdims=0))),
    "of axes in the middle": lambda x: op.Shape(op.Unsqueeze(op.Exp(x), [0]), start=1, end=3),
    "of an axis that was moved": lambda x: op.Shape(op.Transpose(x, perm=[1, 0]), start=-1),
}


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("name", SHAPES)
def test_sizes_are_read_from_the_first_value_that_has_them(name: str, rows: int) -> None:
    block = record(SHAPES[name], "float32[N,3]")
    after = drop_dead_code(simplify(block))
    assert kinds(after) == ["Shape"]
    assert after.ops[0].inputs == (after.params[0],)
    np.testing.assert_array_equal(*(run(b, [np.ones((rows, 3), np.float32)])[0] for b in (block, after)))


def test_a_shape_of_an_array_that_must_fit_is_read_from_it() -> None:
    block = record(lambda x, y: op.Shape(op.Exp(of_shape(x, y.shape))), "float32[K]", "float32[N]")
    after = drop_dead_code(simplify(block))
    assert "Reshape" in kinds(after)
    assert "Exp" not in kinds(after)
