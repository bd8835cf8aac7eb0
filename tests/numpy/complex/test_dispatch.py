"""A function has its complex form where an argument, or the dtype that is asked for, is complex."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.ir.errors import DtypeError, ShapeError, UnsupportedFunction
from tests.recording import kinds, record

X = np.array([0.5, -1.0, 2.0])


def test_a_real_argument_has_the_real_form() -> None:
    assert kinds(record(lambda x: np.exp(x), "float64[3]")) == ["Exp"]
    block = record(lambda x: np.exp(1j * x).real, "float64[3]")
    assert set(kinds(block)) >= {"Cos"}
    assert "Exp" not in kinds(block)


CASES: dict[str, Callable[[Any], Any]] = {
    "reduce": lambda x: np.add.reduce(1j * x) + np.multiply.reduce(1j * x),
    "reduce of one axis": lambda x: np.add.reduce(np.outer(x, 1j * x), axis=-1, keepdims=True),
    "accumulate": lambda x: np.multiply.accumulate(1j * x),
    "a dtype": lambda x: np.multiply(x, x, dtype=complex),
    "a real result in a complex array": lambda x: np.add(x, 1.0, out=np.zeros(3, complex)),
    "a complex result in a complex array": lambda x: np.multiply(x, 1j, out=np.zeros(3, complex)),
    "a sum over a dtype": lambda x: np.sum(x, dtype=complex),
    "a product of matrices": lambda x: np.matmul(np.outer(x, x), 1j * x),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_dtypes_are_numpys(name: str) -> None:
    found, wanted = ps.trace(CASES[name], X)(X), CASES[name](X)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "no complex form": (lambda x: np.floor_divide(1j * x, 2.0), UnsupportedFunction, "np.floor_divide"),
    "of scipy": (lambda x: scipy.special.j0(1j * x), UnsupportedFunction, "scipy.special.j0"),
    "where=": (lambda x: np.exp(1j * x, where=x > 0), UnsupportedFunction, "np.exp with where="),
    "another method": (lambda x: np.subtract.outer(1j * x, x), UnsupportedFunction, "np.subtract.outer"),
    "shapes": (lambda x: (1j * x) + x[:2], ShapeError, "cannot broadcast"),
    "a real array for the result": (
        lambda x: np.multiply(x, 1j, out=np.zeros(3)), DtypeError, "complex result cannot be written to a real array",
    ),
    "a product in place": (lambda x: x.copy().__imul__(1j), DtypeError, "complex result cannot be written"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_complex_form_is_refused_at_the_users_line(name: str) -> None:
    function, error, told = REFUSED[name]
    with pytest.raises(error, match=told) as caught:
        ps.trace(lambda x: np.abs(function(x)), X)
    assert "test_dispatch.py" in str(caught.value)
