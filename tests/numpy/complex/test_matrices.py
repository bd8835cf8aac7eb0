"""Complex matrices as pairs: products, and the equivalent real matrices of twice the size, against NumPy."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.numpy.complex import matrices as pairs
from primsplit.numpy.complex.matrices import Parts

RANDOM = np.random.default_rng(0)
A, B = (RANDOM.standard_normal((2, 3, 4)) + 1j * RANDOM.standard_normal((2, 3, 4)) for _ in range(2))
SQUARE = RANDOM.standard_normal((2, 3, 3)) + 1j * RANDOM.standard_normal((2, 3, 3))


def run(function: Any, *given: Any) -> Any:
    """The result of a function of pairs, as complex arrays where it is a pair."""
    flat = [p for z in given for p in (z.real, z.imag)]

    def of_flat(*parts: Any) -> Any:
        return function(*(Parts(*parts[i : i + 2]) for i in range(0, len(parts), 2)))

    found = ps.trace(of_flat, *flat)(*flat)
    return found.real + 1j * found.imag if isinstance(found, tuple) else found


def test_products_and_differences_are_numpys() -> None:
    np.testing.assert_allclose(run(pairs.product, A, B.mT), A @ B.mT, rtol=1e-13)
    np.testing.assert_allclose(run(pairs.times, A, B), A * B, rtol=1e-13)
    np.testing.assert_allclose(run(pairs.difference, A, B[:, :1]), A - B[:, :1], rtol=1e-13)
    np.testing.assert_array_equal(run(pairs.turned, A), A.conj().mT)


def test_the_real_matrix_of_halves_acts_as_the_complex_one() -> None:
    found = run(pairs.halved, A)
    np.testing.assert_array_equal(found, np.block([[A.real, -A.imag], [A.imag, A.real]]))
    both = run(pairs.halved, A @ B.mT)
    np.testing.assert_allclose(both, found @ run(pairs.halved, B.mT), rtol=1e-12, atol=1e-13)
    back = run(lambda z: pairs.of_halves(pairs.halved(z), 3, 4), A)
    np.testing.assert_array_equal(back, A)


def test_an_interleaved_matrix_has_a_block_for_each_number() -> None:
    found = run(pairs.interleaved, A)
    for i, j in np.ndindex(3, 4):
        block = found[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        a, b = A[:, i, j].real, A[:, i, j].imag
        np.testing.assert_array_equal(block, np.stack([np.stack([a, -b], -1), np.stack([b, a], -1)], -2))
    np.testing.assert_array_equal(run(lambda z: pairs.of_interleaved(pairs.interleaved(z)), A), A)
    np.testing.assert_array_equal(run(lambda z: pairs.of_rows(pairs.interleaved_rows(z)), A), A)


@pytest.mark.parametrize("triangle", ["L", "U", "l"])
def test_a_hermitian_matrix_is_read_from_one_triangle(triangle: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return tuple(pairs.mirrored(x + 1j * y, triangle))

    real, imag = ps.trace(f, SQUARE.real, SQUARE.imag)(SQUARE.real, SQUARE.imag)
    half = np.tril(SQUARE, -1) if triangle.upper() == "L" else np.triu(SQUARE, 1)
    wanted = half + half.conj().mT + np.eye(3) * SQUARE.real
    np.testing.assert_array_equal(real + 1j * imag, wanted)


def test_another_triangle_and_another_shape_are_refused() -> None:
    x = np.eye(3)
    with pytest.raises(ShapeError, match="UPLO must be 'L' or 'U', not 'X'"):
        ps.trace(lambda x: pairs.mirrored(1j * x, "X")[0], x)
    with pytest.raises(ShapeError):
        ps.trace(lambda x: pairs.square_parts(1j * x)[0][0], x[:2])


def test_a_pair_is_a_complex_array_again() -> None:
    def f(x: Any, y: Any) -> Any:
        return pairs.whole((x, y)) * 1j

    np.testing.assert_array_equal(ps.trace(f, A.real, A.imag)(A.real, A.imag), A * 1j)
