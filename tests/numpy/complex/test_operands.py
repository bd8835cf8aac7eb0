"""Operands of complex functions: what is complex, and which dtype NumPy's loop has."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError
from primsplit.numpy.complex.operands import (
    Pair,
    as_complex,
    holds_complex,
    is_complex_dtype,
    literal,
    loop_part,
    operand,
    pair_of,
    part_dtype,
)
from tests.recording import record


def test_a_value_is_complex_by_its_class_dtype_or_elements() -> None:
    yes = [1j, np.complex64(1), np.zeros(2, complex), [1.0, 2j], (np.zeros(2), [1j])]
    no = [1.0, "1j", None, np.zeros(2), [1.0, [2.0]], np.array([None])]
    assert [holds_complex(v) for v in (*yes, *no)] == [True] * len(yes) + [False] * len(no)

    def program(x: Any) -> Any:
        assert not holds_complex(x)
        assert holds_complex(x * 1j)
        return x

    record(program, "float32[2]")


def test_a_dtype_is_complex_as_numpy_reads_it() -> None:
    assert [is_complex_dtype(d) for d in (complex, "c8", np.complex128, "complex64")] == [True] * 4
    assert [is_complex_dtype(d) for d in (float, "f4", None, "no dtype", 3)] == [False] * 5


def test_a_part_that_is_0_everywhere_is_left_out() -> None:
    def program(x: Any) -> Any:
        parts = [operand(v).parts for v in (2j, 3 + 0j, 0j, np.array([1j, 2j]))]
        assert [(p is None, q is None) for p, q in parts] == [
            (True, False),
            (False, True),
            (False, True),
            (True, False),
        ]
        assert as_complex(x).parts[1] is None
        assert operand(x) is x
        return x

    record(program, "float32[2]")


def test_a_missing_part_is_zeros_of_the_other() -> None:
    def program(x: Any) -> Any:
        real, imag = Pair(None, x).whole()
        assert imag is x
        return real, Pair(x, None).whole()[1]

    x = np.array([1.0, -2.0])
    found = ps.trace(program, x)(x)
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


@pytest.mark.parametrize(("dtype", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_the_parts_of_a_dtype_are_half_as_wide(dtype: str, part: str) -> None:
    assert part_dtype(dtype) == np.dtype(part)
    with pytest.raises(DtypeError, match="float64 cannot be part of"):
        part_dtype("float64")


@pytest.mark.parametrize("other", ["float16", "float32", "float64", "int32", "complex64", "complex128", "weak"])
@pytest.mark.parametrize("ufunc", [np.add, np.power])
def test_a_loop_has_numpys_dtype(ufunc: np.ufunc, other: str) -> None:
    left = np.ones(2, np.complex64)
    right: Any = 2.0 if other == "weak" else np.ones(2, other)

    def program(x: Any) -> Any:
        given = [operand(left), literal(2.0, "float64") if other == "weak" else operand(right)]
        if other == "weak":
            given[1].weak = True
        assert loop_part(ufunc, given) == ufunc(left, right).real.dtype
        return x

    record(program, "float32")


def test_what_has_no_loop_is_refused() -> None:
    def of(ufunc: np.ufunc, value: Any) -> Any:
        return record(lambda x: loop_part(ufunc, [operand(value)] * ufunc.nin) and x, "float32")

    with pytest.raises(DtypeError, match=r"np\.floor does not take complex128"):
        of(np.floor, np.ones(2, complex))
    with pytest.raises(DtypeError, match="bfloat16 has no complex form"):
        of(np.add, np.ones(2, ml_dtypes.bfloat16))


def test_parts_are_cast_and_missing_ones_stay_missing() -> None:
    def program(x: Any) -> Any:
        real, imag = pair_of(as_complex(x), np.dtype("float64"))
        assert real is not None
        assert (real.dtype, imag) == (np.float64, None)
        return x

    record(program, "float32[2]")
