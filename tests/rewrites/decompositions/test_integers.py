"""Powers with exponents of every dtype that ONNX admits, against Python's and NumPy's."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
FLOATS = {"float64": 1e-12, "float32": 1e-5, "float16": 5e-3, "bfloat16": 4e-2}


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)


@pytest.mark.parametrize("base", FLOATS)
@pytest.mark.parametrize("exponent", [*INTEGERS, "float32", "float16"])
def test_a_float_to_the_power_of_any_dtype_has_the_value_and_slope_of_the_exponent(base: str, exponent: str) -> None:
    x = np.array([1.01, 2.03, 0.7, 0.0]).astype(dtype_of(base))
    n = np.array([4, 5, 6, 0]).astype(dtype_of(exponent))
    c = np.array([1, 2, 3, 4]).astype(dtype_of(base))
    value, slope = ps.value_and_grad(lambda x, n: np.sum(op.Pow(x, n) * c))(x, n)
    z, m, weight = (a.astype(np.float64) for a in (x, n, c))
    assert float(value) == pytest.approx(float(np.sum(z**m * weight)), rel=FLOATS[base])
    wanted = np.where(m == 0, 0, weight * m * np.where(z == 0, 1, z) ** (m - 1))
    np.testing.assert_allclose(slope.astype(np.float64), wanted, rtol=FLOATS[base], atol=FLOATS[base])


@pytest.mark.parametrize("base", ["int32", "int64"])
@pytest.mark.parametrize("exponent", INTEGERS)
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_whole_number_to_a_large_power_wraps_around(base: str, exponent: str, is_constant: bool) -> None:
    largest = np.iinfo(exponent).max
    x = np.array([3, -1, 2, 7, -1, 2, -5, 0, 1, 6], base)
    n = np.array([min(e, largest) for e in (4, 301, 300, 255, 2**62, 2**63 + 1, 2**40 + 1, 0, 77777, 63)], exponent)
    powers = [pow(int(a), int(b), 2**64) for a, b in zip(x, n, strict=True)]
    wanted = np.array(powers, np.uint64).astype(np.int64).astype(base)
    if is_constant:
        np.testing.assert_array_equal(ps.trace(lambda x: op.Pow(x, n), x)(x), wanted)
    else:
        np.testing.assert_array_equal(ps.trace(op.Pow, x, n)(x, n), wanted)


def test_a_whole_number_to_a_negative_power_is_cut_towards_zero() -> None:
    x, n = np.array([1, -1, -1, 5]), np.array([-3, -3, -4, -2], np.int8)
    np.testing.assert_array_equal(ps.trace(op.Pow, x, n)(x, n), [1, -1, 1, 0])


def test_powers_of_no_whole_numbers_are_none() -> None:
    program = ps.trace(op.Pow, ps.spec("int64", ["N"]), ps.spec("uint16", ["N"]))
    assert program(np.zeros(0, np.int64), np.zeros(0, np.uint16)).shape == (0,)
    np.testing.assert_array_equal(program(np.array([3]), np.array([5], np.uint16)), [243])
