"""QR factors of complex matrices: NumPy's values, and gradients by both parts."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.complex.reflections import tall_qr
from tests.numpy.complex.linear_rows import check_row, rows_of


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", rows_of("reflections"))
def test_a_function_of_complex_matrices_is_numpys_with_gradients(name: str) -> None:
    check_row(name)


@pytest.mark.parametrize("shape", [(1, 1), (4, 1), (5, 3), (3, 3), (2, 4, 2)], ids=str)
def test_a_tall_matrix_is_q_r_with_a_real_diagonal(shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, *shape))
    found = ps.trace(lambda x, y: tuple(tall_qr(x, y)), x, y)(x, y)
    q, r = found[0] + 1j * found[1], found[2] + 1j * found[3]
    np.testing.assert_allclose(q @ r, x + 1j * y, atol=1e-14)
    np.testing.assert_allclose(q.conj().mT @ q, np.broadcast_to(np.eye(shape[-1]), r.shape), atol=1e-14)
    np.testing.assert_array_equal(np.tril(r, -1), 0 * r)
    wanted = np.linalg.qr(x + 1j * y)
    np.testing.assert_allclose(r, wanted.R, atol=1e-14)
    np.testing.assert_allclose(q, wanted.Q, atol=1e-14)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_factors_do_not_depend_on_the_size_of_the_elements(size: float) -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((5, 3)) + 1j * random.standard_normal((5, 3))
    q, r = ps.trace(lambda a: tuple(np.linalg.qr(a)), a)(size * a)
    np.testing.assert_allclose(q, np.linalg.qr(a)[0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(r / size, np.linalg.qr(a)[1], rtol=1e-9, atol=1e-11)
