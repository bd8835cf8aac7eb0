"""The Frechet derivative of functions of matrices: SciPy's values and derivatives, and one block of a larger matrix."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import primsplit as ps
from primsplit.frontends.scipy.frechet import upper_right
from primsplit.ops import op
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)

A = RANDOM.standard_normal((3, 3)) * 0.4 + 1.5 * np.eye(3)

B = RANDOM.standard_normal((3, 3))

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "expm_frechet": (lambda a, b: sl.expm_frechet(a, b), (A, B)),
    "expm_frechet alone": (lambda a, b: sl.expm_frechet(a, b, compute_expm=False), (A, B)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, modes=("reverse", "forward"), value_tolerance=1e-9)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", ["expm", "sqrtm"])
def test_forward_over_reverse_and_batches_of_it_are_reverse_over_reverse(name: str) -> None:
    directions = np.stack([B, 2 * B.T])

    def f(a: Any) -> Any:
        return np.sum(getattr(sl, name)(a) ** 2)

    def product(v: Any) -> Any:
        return ps.grad(lambda a: np.sum(ps.grad(f)(a) * v))(A)

    wanted = [product(v) for v in directions]
    np.testing.assert_allclose(ps.hvp(f)(A, B), wanted[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ps.vmap(lambda v: ps.hvp(f)(A, v))(directions), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.sum(ps.hessian(f)(A) * B, axis=(2, 3)), wanted[0], rtol=1e-9, atol=1e-12)


def test_the_derivative_of_a_square_is_that_of_its_product_rule() -> None:
    """Of f(A) = A A along E it is A E + E A."""
    program = ps.trace(lambda a, e: upper_right(lambda m: op.MatMul(m, m), a, e), *[ps.spec("float64", ["N", "N"])] * 2)
    for n in (1, 3):
        a, e = A[:n, :n], B[:n, :n]
        np.testing.assert_allclose(program(a, e), a @ e + e @ a, rtol=1e-13)
