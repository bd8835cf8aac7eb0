"""The Schur form of complex Hessenberg matrices: a triangle, similar to the matrix, found to its end."""

import functools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.numpy.complex.matrices import Parts
from primsplit.numpy.complex.schur import schur
from tests.numpy.matrices import HARD, normal


@functools.cache
def program() -> Any:
    """T, Z and whether the iteration came to its end, of a complex Hessenberg matrix of any size."""

    def f(x: Any, y: Any, high: Any) -> Any:
        t, z, is_settled = schur(Parts(x, y), high * 0, high)
        return (*t, *z, is_settled)

    return ps.trace(f, *[ps.spec("float64", ["N", "N"])] * 2, ps.spec("int64", []))


def run(h: Any) -> tuple[Any, Any, bool]:
    real, imag, z_real, z_imag, is_settled = program()(h.real, h.imag, np.int64(len(h) - 1))
    return real + 1j * imag, z_real + 1j * z_imag, bool(is_settled)


CASES = {
    **{f"of {n} rows": normal(n, n) + 1j * normal(n, n, seed=1) for n in (1, 2, 3, 6)},
    **{name: HARD[name] + 0j for name in ("zero", "a Jordan block", "a cycle")},
}


@pytest.mark.parametrize("name", CASES)
def test_a_matrix_is_similar_to_its_triangle(name: str) -> None:
    a = CASES[name]
    h = scipy.linalg.hessenberg(a)
    t, z, is_settled = run(h)
    assert is_settled
    np.testing.assert_allclose(z.conj().T @ z, np.eye(len(a)), atol=1e-13)
    np.testing.assert_allclose(z @ np.triu(t) @ z.conj().T, h, atol=1e-12)
    found, wanted = np.diag(t), np.linalg.eigvals(h)
    np.testing.assert_allclose(np.sort_complex(found.round(6)), np.sort_complex(wanted.round(6)), atol=1e-5)
