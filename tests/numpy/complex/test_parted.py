"""Functions that are linear in some arguments, of complex arrays: NumPy's values, and gradients by both parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import DtypeError, UnsupportedFunction
from tests.numpy.complex.rows import A, B, check_smooth, smooth


@pytest.mark.parametrize("name", smooth("parted"))
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_smooth(name)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "put": lambda z, w: np.put(z, [0, 5], w[0, :2]),
    "place": lambda z, w: np.place(z, A > 0, w[0]),
    "putmask": lambda z, w: np.putmask(z, A > 0, w),
    "copyto": lambda z, w: np.copyto(z, w[0], where=A > 0),
    "fill_diagonal": lambda z, w: np.fill_diagonal(z, 2 - 1j),
    "put_along_axis": lambda z, w: np.put_along_axis(z, np.array([[1], [0], [2]]), w[:, :1], 1),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_reaches_both_parts(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        z = (x + 1j * y).copy()
        WRITES[name](z, y - 2j * x)
        return z.real, z.imag

    for found, wanted in zip(ps.trace(f, A, B)(A, B), f(A, B), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_complex_number_is_not_written_to_a_real_array() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        np.put(y, [0], 1j * x[0])
        return y

    with pytest.raises(DtypeError, match="a complex number is written to a real array"):
        ps.trace(f, A)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda z: np.interp(z, [0.0, 1.0], [0.0, 1.0]), "np.interp with another argument that is complex"),
        (lambda z: np.polyfit(np.arange(3.0), z, 1, full=True), "np.polyfit with full="),
        (lambda z: np.linspace(z[0], z[1], 3, dtype=np.complex64), "np.linspace with dtype="),
    ],
)
def test_what_is_not_linear_in_the_array_is_refused(function: Callable[[Any], Any], told: str) -> None:
    with pytest.raises(UnsupportedFunction, match=told):
        ps.trace(lambda x: np.abs(function(x + 1j)), np.array([0.5, -1.0, 2.0]))
