"""Eigenvalues and eigenvectors of complex matrices: NumPy's, in LAPACK's order, with gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_grads, session
from tests.numpy.matrices import normal, parts


def complex_exponential(x: Any, y: Any) -> Any:
    w, v = np.linalg.eig(x + 1j * y)
    return parts((v * np.exp(w)) @ np.linalg.inv(v))


def complex_roots(p: Any, q: Any) -> Any:
    return parts(np.roots(p + 1j * q))


OF_COMPLEX: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "eigvals": (lambda x, y: parts(np.linalg.eigvals(x + 1j * y)), (3, 3)),
    "eigvals of a stack": (lambda x, y: parts(np.linalg.eigvals(x + 1j * y)), (2, 2, 2)),
    "eig, a function of the matrix": (complex_exponential, (3, 3)),
    "eig, moduli of vectors": (lambda x, y: np.abs(np.linalg.eig(x + 1j * y)[1]) ** 2, (3, 3)),
    "roots": (complex_roots, (4,)),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_a_function_of_complex_numbers_and_its_gradients_are_numpys(name: str) -> None:
    function, shape = OF_COMPLEX[name]
    check_grads(function, normal(*shape), normal(*shape, seed=1), value_tolerance=1e-10, symbolic=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 3, 3), (0, 2, 2), (7, 7)])
def test_complex_matrices_of_any_size_have_numpys_eigenvalues_in_lapacks_order(shape: tuple[int, ...]) -> None:
    def function(x: Any, y: Any) -> Any:
        return parts(np.linalg.eigvals(x + 1j * y))

    names = ["B", "N", "N"][-len(shape) :]
    run = session(function, names, names)
    for seed in range(4):
        x, y = normal(*shape, seed=seed), normal(*shape, seed=seed + 9)
        for given in ((x, y), (x, 0 * y), (np.triu(x), np.triu(y)), (x + x.mT, y - y.mT)):
            np.testing.assert_allclose(run(*given)[0], function(*given), rtol=0, atol=1e-10)
