"""The QR iteration finds eigenvalues in LAPACK's order, also of hard matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import session
from tests.numpy.matrices import HARD, parts

Array = np.ndarray[Any, Any]

RANDOM = np.random.default_rng(0)


KINDS: dict[str, Callable[[int], Array]] = {
    "dense": lambda n: RANDOM.standard_normal((n, n)),
    "a companion matrix": lambda n: np.vstack([RANDOM.standard_normal(n), np.eye(n)[:-1]]),
    "an upper triangle": lambda n: np.triu(RANDOM.standard_normal((n, n))),
    "a lower triangle": lambda n: np.tril(RANDOM.standard_normal((n, n))),
    "few elements": lambda n: RANDOM.standard_normal((n, n)) * ((RANDOM.random((n, n)) < 0.3) | (np.eye(n) > 0)),
    "badly scaled": lambda n: 10.0 ** RANDOM.integers(-4, 5, (n, 1)) * RANDOM.standard_normal((n, n)),
    "stochastic": lambda n: (x := RANDOM.random((n, n))) / x.sum(1, keepdims=True),
    "skew": lambda n: (x := RANDOM.standard_normal((n, n))) - x.T,
    "a rotation": lambda n: np.linalg.qr(RANDOM.standard_normal((n, n)))[0],
    "an oscillator": lambda n: np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.diag(1.0 + np.arange(n)), -0.1 * np.eye(n)]]
    ),
}


@pytest.mark.sweep(8)
@pytest.mark.parametrize("kind", KINDS)
def test_eigenvalues_come_in_lapacks_order(kind: str) -> None:
    run = session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"])
    for n in (1, 2, 3, 4, 6, 9):
        for _ in range(4):
            a = KINDS[kind](n)
            wanted = parts(np.linalg.eigvals(a))
            np.testing.assert_allclose(run(a)[0], wanted, rtol=0, atol=1e-9 * np.abs(wanted).max(initial=1e-300))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", HARD)
def test_hard_matrices_have_numpys_eigenvalues(name: str) -> None:
    a = HARD[name]
    wanted = parts(np.linalg.eigvals(a))
    (found,) = session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"])(a)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max(initial=1e-300))
