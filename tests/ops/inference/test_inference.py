"""Result types: the rules agree with onnx's C++ inference and with what onnxruntime produces, symbols included."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block, Const, Op, Type, Var, dims
from primsplit.ir.dims import symbol
from primsplit.ir.errors import DtypeError, PrimsplitError, ShapeError
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.ops.inference.table import RULES
from tests.ops.inference.checks import types_of
from tests.ops.inference.rows import ROWS
from tests.recording import record


def test_every_rule_has_a_row() -> None:
    assert set(RULES) <= {row.kind for row in ROWS}


def test_symbols_are_only_invented_for_sizes_that_depend_on_data() -> None:
    data_dependent = {"Compress", "NonZero", "Unique"}
    for row in ROWS:
        made = {s for t in types_of(row, {}) for d in t.shape or () for s in dims.symbols(d)} - {"N", "M"}
        assert bool(made) == (row.kind in data_dependent), row


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


WRONG: list[tuple[type[PrimsplitError], Any, tuple[str, ...], str]] = [
    (ShapeError, lambda x, y: op.Add(x, y), ("float32[2]", "float32[3]"), "cannot broadcast"),
    (ShapeError, lambda x, y: op.MatMul(x, y), ("float32[2,3]", "float32[4,5]"), "inner sizes 3 and 4"),
    (ShapeError, lambda x: op.Reshape(x, [5]), ("float32[2,3]",), "cannot reshape"),
    (ShapeError, lambda x: op.Reshape(x, [0, -1]), ("float32[0,3]",), "-1 may be any size"),
    (ShapeError, lambda x: op.Pad(x, [0, -7, 0, 0]), ("float32[N,3]",), "a size is from 0"),
    (ShapeError, lambda x: op.Transpose(x, perm=[0, 0]), ("float32[2,3]",), "does not permute"),
    (ShapeError, lambda x: op.Squeeze(x, [0]), ("float32[2]",), "cannot squeeze"),
    (ShapeError, lambda x: op.Concat(x, x, axis=4), ("float32[2]",), "axis 4"),
    (ShapeError, lambda x, y: op.Concat(x, y, axis=0), ("float32[2,3]", "float32[2,4]"), "differ at axis 1"),
    (ShapeError, lambda x: op.Gather(x, [0]), ("float32",), "at least one axis"),
    (DtypeError, lambda x, y: op.Add(x, y), ("float32[2]", "float64[2]"), "float32 and float64"),
    (DtypeError, lambda x: op.Sin(x), ("int64[2]",), "does not take int64"),
    (PrimsplitError, lambda x: op.Elu(x, beta=1.0), ("float32",), "no attribute beta"),
    (PrimsplitError, lambda x: op.Concat(x), ("float32[2]",), "needs its attribute axis"),
    (PrimsplitError, lambda x: op.Sin(x, x), ("float32",), "takes 1 to 1 inputs"),
]


@pytest.mark.parametrize(("error", "function", "specs", "text"), WRONG)
def test_inputs_that_do_not_fit_are_refused_at_the_users_line(
    error: type[PrimsplitError], function: Any, specs: tuple[str, ...], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        record(function, *specs)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_two_symbols_are_never_taken_for_equal() -> None:
    (result,) = record(lambda x, y: op.Add(x, y), "float32[N]", "float32[M]").results
    assert str(result.type) == "float32[broadcast(M, N)]"


def test_a_wrong_declaration_is_found() -> None:
    x, y = Var(Type("float32", [symbol("N"), 3])), Var(Type("float32", [4, symbol("N")]))
    with pytest.raises(PrimsplitError, match="declared"):
        check_types(Block("f", (x,), (Op("Transpose", (x,), (y,)),), (y,)))
