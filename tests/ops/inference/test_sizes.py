"""Integer vectors that hold sizes are known where the run can give nothing else."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Const, Var
from primsplit.ops import op
from tests.recording import record

SIZES = [
    (lambda x: op.Shape(x), "(N, M, 3)"),
    (lambda x: op.Shape(x, start=1), "(M, 3)"),
    (lambda x: op.Size(x), "(3*M*N,)"),
    (lambda x: op.Gather(op.Shape(x), [1, 0]), "(M, N)"),
    (lambda x: op.Gather(op.Shape(x), 1), "(M,)"),
    (lambda x: op.Concat(op.Shape(x, end=1), [4], axis=0), "(N, 4)"),
    (lambda x: op.Slice(op.Shape(x), [-1], [-(2**62)], [0], [-1]), "(3, M, N)"),
    (lambda x: op.ReduceProd(op.Shape(x), keepdims=0), "(3*M*N,)"),
    (lambda x: op.Add(op.Shape(x), 1), "(N + 1, M + 1, 4)"),
    (lambda x: op.Div(op.Shape(x), 2), "(floordiv(N, 2), floordiv(M, 2), 1)"),
    (lambda x: op.Mod(op.Shape(x), 2), "(mod(N, 2), mod(M, 2), 1)"),
    (lambda x: op.Max(op.Shape(x), np.int64(2)), "(max(N, 2), max(M, 2), 3)"),
    (lambda x: op.Max(op.Shape(x), np.int64(2), np.int64(5)), "(max(max(N, 2), 5), max(max(M, 2), 5), 5)"),
    (lambda x: op.Unsqueeze(op.Squeeze(op.Shape(x, end=1), [0]), [0]), "(N,)"),
    (lambda x: op.Cast(op.Shape(x), to=np.int32), "(N, M, 3)"),
]


@pytest.mark.parametrize(("function", "expected"), SIZES)
def test_what_an_integer_vector_says_of_sizes_is_known(function: Any, expected: str) -> None:
    block = record(function, "float32[N,M,3]")
    assert str(block.results[0].sizes) == expected


UNKNOWN = [
    (lambda x: op.Div(op.Sub(op.Shape(x), 5), 2), "it may be negative, and Div truncates"),
    (lambda x: op.Div(np.array([7]), op.Shape(x)), "the divisor may be 0"),
    (lambda x: op.Sub(op.Cast(op.Shape(x), to=np.uint64), np.uint64(5)), "it may wrap around"),
    (lambda x: op.Cast(op.Shape(x), to=np.int8), "it may wrap around"),
    (lambda x: op.Div(np.array([1]), np.array([0])), "it is no number"),
]


@pytest.mark.parametrize(("function", "why"), UNKNOWN)
def test_what_an_integer_vector_might_not_say_is_not_assumed(function: Any, why: str) -> None:
    assert record(function, "float32[N]").results[0].sizes is None, why


def test_integers_that_wrap_around_are_left_to_the_run() -> None:
    for function in (
        lambda: op.Mul(np.array([2**30], np.int32), np.array([7], np.int32)),
        lambda: op.Add(np.array([2**62]), np.array([2**62])),
    ):
        assert isinstance(record(function).results[0], Var)


def test_large_quotients_are_exact() -> None:
    (result,) = record(lambda: op.Div(np.array([2**62 + 1, -(2**62) - 1]), np.array([1]))).results
    assert isinstance(result, Const)
    assert result.numpy().tolist() == [2**62 + 1, -(2**62) - 1]


MORE = [
    (lambda x: op.Gather(op.Shape(x), [-1]), "(3,)"),
    (lambda x: op.Shape(x, start=-2, end=-1), "(M,)"),
    (lambda x: op.Slice(op.Shape(x), [1], [2**62]), "(M, 3)"),
    (lambda x: op.Slice(op.Shape(x), [0], [-1]), "(N, M)"),
    (lambda x: op.Slice(op.Shape(x), [0], [3], [0], [2]), "(N, 3)"),
    (lambda x: op.Neg(op.Shape(x, start=2)), "(-3,)"),
    (lambda x: op.Sub(op.Shape(x, end=1), op.Shape(x, start=2)), "(N - 3,)"),
    (lambda x: op.Min(op.Shape(x), np.int64(2)), "(min(N, 2), min(M, 2), 2)"),
    (lambda x: op.Expand(op.Shape(x, end=1), [2]), "(N, N)"),
    (lambda x: op.ConstantOfShape([2], value=np.array([7])), "(7, 7)"),
    (lambda x: op.ConstantOfShape(np.zeros(0, np.int64), value=np.array([7])), "(7,)"),
    (lambda x: op.Range(np.int64(5), np.int64(0), np.int64(-2)), "(5, 3, 1)"),
    (lambda x: op.Div(np.array([-7, 7, -7]), np.array([2, -2, -2])), "(-3, -3, 3)"),
    (lambda x: op.Shape(op.Concat(x, x, axis=0), end=1), "(2*N,)"),
]


@pytest.mark.parametrize(("function", "expected"), MORE)
def test_each_operator_computes_the_elements_that_numpy_does(function: Any, expected: str) -> None:
    (result,) = record(function, "float32[N,M,3]").results
    assert str(result.sizes) == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda x: op.Gather(op.Shape(x), [3]),
        lambda x: op.Gather(op.Unsqueeze(op.Shape(x), [0]), [0], axis=1),
        lambda x: op.Mod(op.Sub(op.Shape(x), 5), 2),
        lambda x: op.Min(op.Shape(x), op.Cast(op.Ceil(op.ReduceMax(x, keepdims=0)), to=np.int64)),
        lambda x: op.Shape(op.NonZero(x), end=1).shape and op.Cast(op.Shape(x), to=np.float32),
    ],
)
def test_other_vectors_are_not_known(function: Any) -> None:
    assert record(lambda x: function(x), "float32[N,M,3]").results[0].sizes is None
