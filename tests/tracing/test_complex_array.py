"""Complex arrays are pairs of real ones: writes, views, lists and questions as in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads
from tests.numpy.complex.rows import A, B, U, V, parts


def test_lists_of_complex_numbers_are_arrays_for_every_function() -> None:
    def turned(angle: Any) -> Any:
        turn = np.diag([np.exp(-0.5j * angle), np.exp(0.5j * angle)])
        return parts(turn @ np.array([1, 1j]) + np.r_[1j * angle, 2.0] + np.sum([1j * angle, angle]))

    check_agrees(turned, np.float64(0.3))
    check_grads(turned, np.float64(0.3))


QUESTIONS: list[Callable[..., Any]] = [
    lambda z, w: (z == w, z != w, z == z.real, np.isnan(z / (w - w)), np.isfinite(z), np.isinf(w)),
    lambda z, w: (np.iscomplex(z * w.real), np.isreal(z), np.any(z), np.all(w - w, axis=0), np.count_nonzero(z)),
]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_questions_are_answered_as_numpy_does(ask: Callable[..., Any]) -> None:
    check_agrees(lambda a, b, u, v: ask(a + 1j * b, u + 1j * v), A, B, U, V, symbolic=False)


def test_real_results_are_written_into_complex_arrays() -> None:
    def logs(x: Any) -> Any:
        out = np.zeros_like(x, complex)
        np.log(x, out=out)
        other = 1j * x
        np.isfinite(x, other)
        np.add(x[:1], 1.0, out=out[1:2])
        known = np.zeros(3, complex)
        np.exp(x, out=known)
        return parts((out, other, known))

    check_agrees(logs, np.array([1.0, 2.0, 3.0]), symbolic=False)


def in_place(a: Any, b: Any, u: Any, v: Any) -> Any:
    z = a + 1j * b
    row = z[1]
    z *= u
    z[0] = v[0]
    z[:, 1] += 2j
    z.real[2] = u[2]
    z.imag *= 0.5
    row -= 1j
    z[2, 0] /= 1 + 1j
    w = z.copy()
    w.fill(1j)
    return z.real, z.imag, row.real, w.imag


def test_writes_reach_the_array_and_its_views() -> None:
    check_agrees(in_place, A, B, U, V)
    check_grads(in_place, A, B, U, V, resize=())
