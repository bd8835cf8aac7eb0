"""Arrays of complex dtypes, and of nested lists of complex numbers: NumPy's values, dtypes and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError

X = np.array([0.5, -1.0, 2.0])
MADE: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: np.zeros((2, 3), complex) + x,
    "zeros of single precision": lambda x: np.zeros(3, "c8") + x.astype(np.float32),
    "ones": lambda x: np.ones(3, dtype=complex) * x,
    "full of a complex number": lambda x: np.full((2, 3), 2 - 1j) * x,
    "full of a traced number": lambda x: np.full(2, x[0] * 1j),
    "full of a real number": lambda x: np.full(3, x[1], complex),
    "array of a list": lambda x: np.array([x[0], 2j, x[1] + 1j]),
    "array of nested lists": lambda x: np.array([[x[0], 1j], [2.0, x[2] * 1j]]),
    "array of a dtype": lambda x: np.array([x[0] * 1j, 1.0], dtype=np.complex64),
    "array with another axis": lambda x: np.array(x * 1j, ndmin=2),
    "asarray": lambda x: np.asarray(1j * x),
    "asarray of a real array": lambda x: np.asarray(x, complex),
    "of a number": lambda x: np.asarray(x[0] * 1j),
    "rows one after the other": lambda x: np.ascontiguousarray(1j * x[0]),
    "columns one after the other": lambda x: np.asfortranarray(np.outer(x, 1j * x)),
}


@pytest.mark.parametrize("name", MADE)
def test_an_array_is_numpys(name: str) -> None:
    found, wanted = ps.trace(MADE[name], X)(X), MADE[name](X)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_an_array_is_a_copy_and_asarray_is_not() -> None:
    def f(x: Any) -> Any:
        z = 1j * x
        copy, same = np.array(z), np.asarray(z)
        z[0] = 5.0
        return copy, same

    for found, wanted in zip(ps.trace(f, X)(X), f(X), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_elements_have_their_gradients() -> None:
    def f(x: Any) -> Any:
        z = np.array([[x[0], x[1] * 1j], [2j, x[2]]])
        return np.sum(np.abs(z) ** 2)

    np.testing.assert_allclose(ps.grad(f)(X), 2 * X)


def test_a_dtype_that_no_program_has_is_refused() -> None:
    with pytest.raises(DtypeError, match="cannot be part of a program"):
        ps.trace(lambda x: np.zeros(3, np.clongdouble) + x, X)
