"""scipy.linalg of complex matrices inside of a traced function: SciPy's values, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_grads
from tests.numpy.complex.linear_rows import B, Function, X, Y, definite, parts, slowly

SCIPYS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "expm": (lambda a, b: scipy.linalg.expm(0.3 * (a + 1j * b)), (X, Y)),
    "solve, Hermitian": (lambda a, b, c: scipy.linalg.solve(definite(a + 1j * b), c, assume_a="her"), (X, Y, B)),
    "solve, positive": (lambda a, b, c: scipy.linalg.solve(definite(a + 1j * b), c, assume_a="pos"), (X, Y, B)),
    "solve, symmetric": (
        lambda a, b, c: scipy.linalg.solve(a + 1j * b + (a + 1j * b).T, c, assume_a="sym"), (X, Y, B)
    ),
    "eigvalsh": (lambda a, b: scipy.linalg.eigvalsh(a + 1j * b, definite(b + 1j * a)), (X, Y)),
    "eigh": (lambda a, b: abs(scipy.linalg.eigh(a + 1j * b, definite(b + 1j * a), lower=False)[1]), (X, Y)),
    "cholesky": (lambda a, b: scipy.linalg.cholesky(definite(a + 1j * b)), (X, Y)),
    "det": (lambda a, b: scipy.linalg.det(a + 1j * b), (X, Y)),
}  # fmt: skip


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", slowly(SCIPYS, {"eigh", "solve, symmetric"}))
def test_a_function_of_complex_matrices_is_scipys_with_gradients(name: str) -> None:
    function, given = SCIPYS[name]
    check_grads(lambda *g: parts(function(*g)), *given, value_tolerance=1e-10, resize=(1,))


def test_what_complex_matrices_have_no_form_of_is_told() -> None:
    with pytest.raises(UnsupportedFunction, match="mode='complete'"):
        ps.trace(lambda a: parts(np.linalg.qr(1j * a, "complete")), X)
    with pytest.raises(ShapeError, match="must be square"):
        ps.trace(lambda a: parts(np.linalg.inv(1j * a)), B)
    with pytest.raises(ShapeError, match="UPLO"):
        ps.trace(lambda a: np.linalg.eigvalsh(1j * a, "X"), X)
