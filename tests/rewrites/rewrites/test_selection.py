"""Values that are passed on: copies, casts and choices that go, and those that may change a bit."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rewrites.rewrites.selection import is_lossless
from tests.rewrites.rewrites.simplified import F16, F32, F64, HALF, check_leaves, check_stays

GOES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "identity": (lambda x: op.Identity(x), []),
    "cast to itself": (lambda x: op.Cast(x, to=F32), []),
    "cast up and back": (lambda x: op.Cast(op.Cast(x, to=F64), to=F32), []),
    "cast up and down": (lambda x: op.Cast(op.Cast(op.Floor(x), to=F64), to=np.bool_), ["Floor", "Cast"]),
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
    "concat of one": (lambda x: op.Concat(x, axis=0), []),
    "max of one": (lambda x: op.Max(x), []),
    "dropout": (lambda x: op.Dropout(x), []),
}  # fmt: skip


@pytest.mark.parametrize("name", GOES)
def test_a_rewrite_leaves_these_ops_and_the_same_bits(name: str) -> None:
    check_leaves(*GOES[name], is_exact="where" not in name)


STAYS: dict[str, tuple[Callable[..., Any], str]] = {
    "a distance of a row, set to 0 in a matrix": (
        lambda x: op.Where(op.Equal(m := op.Ceil(x), HALF), np.zeros((4, 3), F32), op.Abs(op.Sub(m, HALF))),
        "float32[1,3]",
    ),
    "a cast that loses": (lambda x: op.Cast(op.Cast(x, to=F16), to=F32), "float32[N,3]"),
    "integers through float64": (lambda x: op.Cast(op.Cast(x, to=F64), to=np.int64), "int64[N]"),
    "a clip without bounds, which bounds infinity": (lambda x: op.Clip(x), "float32[N,3]"),
    "training": (lambda x: op.Dropout(x, HALF, np.array(True)), "float32[N,3]"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_might_change_a_bit_stays(name: str) -> None:
    check_stays(*STAYS[name])


DTYPES = [np.dtype(t) for t in ("bool", "uint8", "int8", "uint16", "int16", "int64", "float16", "float32", "float64")]
DTYPES += [np.dtype(ml_dtypes.bfloat16)]


def numbers_of(dtype: np.dtype[Any]) -> Any:
    """Numbers of a dtype that others may not have: its limits, and its last digit."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.min + 1, limits.max // 2, limits.max - 1, limits.max], dtype)
    limits = ml_dtypes.finfo(dtype)
    return np.array([1 + float(limits.eps), 1 - float(limits.eps), float(limits.max), -2.5]).astype(dtype)


@pytest.mark.parametrize("narrow", DTYPES, ids=str)
def test_a_cast_loses_nothing_where_every_number_comes_back(narrow: np.dtype[Any]) -> None:
    numbers = numbers_of(narrow)
    for wide in DTYPES[1:]:
        with np.errstate(all="ignore"):
            found = numbers.astype(wide)
        assert is_lossless(narrow, wide) == (exactly(found) == exactly(numbers)), wide


def exactly(numbers: Any) -> list[int | float]:
    """Python's numbers, which compare exactly."""
    return [int(n) if numbers.dtype.kind in "biu" else float(n) for n in numbers]


INTEGERS = [np.dtype(t) for t in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32")]


@pytest.mark.parametrize("narrow", INTEGERS, ids=str)
@pytest.mark.parametrize("wide", ["int64", "uint64"])
def test_numbers_of_few_bits_are_summed_in_float64_alone(narrow: np.dtype[Any], wide: str) -> None:
    dtype = np.dtype(wide)
    summed = ps.trace(lambda x: op.ReduceSum(op.Cast(x, to=dtype), [0], keepdims=0), ps.spec(narrow, ["N", 2]))
    few = narrow.itemsize < 4 and (wide == "int64" or narrow.kind != "i")
    assert (len(summed.to_onnx().graph.node) == 3) == few
    numbers = np.resize(numbers_of(narrow), (1001, 2))
    for x in (numbers, numbers[:0], numbers[:1]):
        found = summed(x)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.sum(x.astype(dtype), axis=0))
