"""A ufunc applied to one element after the other: NumPy's values, of any number of elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_agrees, check_grads, gapped

M, V, W = gapped(3, 5), gapped(5), np.abs(gapped(4)) + 0.2

FOLDS: dict[str, Callable[[Any], Any]] = {
    "subtract.reduce": lambda x: np.subtract.reduce(x, axis=0),
    "hypot.accumulate": lambda x: np.hypot.accumulate(x, axis=0),
    "divide.accumulate": lambda x: np.divide.accumulate(x, axis=1),
    "add.reduceat of no starts": lambda x: np.add.reduceat(x, [], axis=1),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1, 3], axis=1),
}


@pytest.mark.parametrize("name", FOLDS)
def test_a_ufunc_is_folded_along_an_axis_of_literal_size(name: str) -> None:
    far = np.sign(M) * (np.abs(M) + 1.0)
    check_agrees(FOLDS[name], far, symbolic=False)
    check_grads(FOLDS[name], far, symbolic=False)


FAR = np.sign(M) * (np.abs(M) + 1.0)

RUN_TIME_FOLDS: dict[str, Callable[[Any], Any]] = {
    "subtract.reduce": np.subtract.reduce,
    "divide.reduce": lambda x: np.divide.reduce(x, axis=1, keepdims=True),
    "power.reduce": lambda x: np.power.reduce(np.abs(x)),
    "hypot.reduce": lambda x: np.hypot.reduce(x, axis=(0, 1)),
    "subtract.reduce from a number": lambda x: np.subtract.reduce(x, initial=2.0, where=x > 0),
    "subtract.accumulate": np.subtract.accumulate,
    "divide.accumulate": lambda x: np.divide.accumulate(x, axis=1),
    "hypot.accumulate": np.hypot.accumulate,
    "fmax.accumulate": np.fmax.accumulate,
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2, 1]),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", RUN_TIME_FOLDS)
def test_a_ufunc_is_folded_along_an_axis_of_any_size(name: str) -> None:
    check_agrees(RUN_TIME_FOLDS[name], FAR)
    check_grads(RUN_TIME_FOLDS[name], FAR)


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "float32"])
def test_folds_of_many_numbers_of_any_dtype_are_numpys(dtype: str, rows: int) -> None:
    def function(x: Any) -> Any:
        integers = x.astype(np.int16)
        return (
            np.divide.reduce(x), np.hypot.reduce(x), np.subtract.reduce(integers), np.subtract.accumulate(integers),
            np.bitwise_xor.reduce(integers), np.logical_xor.accumulate(x),
        )  # fmt: skip

    x = (np.arange(rows * 2) % 3 + 1).reshape(rows, 2).astype(dtype)
    for each, wanted in zip(ps.trace(function, ps.spec(dtype, ["N", 2]))(x), function(x), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=2e-3 if wanted.dtype == np.float16 else 1e-6, strict=True)


def test_nothing_accumulates_to_nothing_and_has_no_difference() -> None:
    nothing = np.zeros((0, 2))
    accumulated = ps.trace(np.subtract.accumulate, ps.spec("float64", ["N", 2]))
    np.testing.assert_array_equal(accumulated(nothing), nothing)
    with pytest.raises(ps.PrimsplitError, match=r"test_folding\.py"):
        ps.trace(np.subtract.reduce, ps.spec("float64", ["N", 2]))(nothing)
