"""Associative scans are the loops in NumPy that they stand for, at known lengths and at lengths of a run."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.transforms.associative_scans import adjoint_recurrence, linear_recurrence, running_maximum

random = np.random.default_rng(4)
A, B = 0.4 * random.standard_normal((3, 3, 300)), random.standard_normal((3, 300))


def by_loop(a: Any, b: Any) -> Any:
    states, state = np.zeros_like(b), np.zeros(len(b))
    for t in range(b.shape[1]):
        states[:, t] = state = a[:, :, t] @ state + b[:, t]
    return states


def by_adjoint_loop(a: Any, b: Any) -> Any:
    states, state = np.zeros_like(b), np.zeros(len(b))
    for t in reversed(range(b.shape[1])):
        states[:, t] = state = b[:, t] + (a[:, :, t + 1].T @ state if t + 1 < b.shape[1] else 0.0)
    return states


SCANS = {
    "linear": (linear_recurrence, by_loop),
    "adjoint": (adjoint_recurrence, by_adjoint_loop),
    "maximum": (lambda _, b: running_maximum(b), lambda _, b: np.maximum.accumulate(b, axis=1)),
}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("name", SCANS)
def test_a_scan_is_the_loop_at_each_length(name: str, size: int) -> None:
    scan, loop = SCANS[name]
    symbolic = ps.trace(scan, ps.spec("float64", [size, size, "N"]), ps.spec("float64", [size, "N"]))
    for length in (0, 1, 2, 3, 4, 5, 17, 32, 40, 129, 130, 300):
        a, b = A[:size, :size, :length], B[:size, :length]
        right = loop(a, b)
        for program in (symbolic, ps.trace(scan, a, b)):
            np.testing.assert_allclose(program(a, b), right, rtol=1e-10, atol=1e-10 * np.abs(right).max(initial=1.0))


@pytest.mark.parametrize("length", [5, 131, 300])
def test_further_axes_are_recurrences_of_their_own(length: int) -> None:
    a, b = random.uniform(-0.5, 0.5, (2, 2, length, 3)), random.standard_normal((2, length, 3))
    right = np.stack([by_loop(a[..., i], b[..., i]) for i in range(3)], axis=-1)
    for loops in (False, True):
        found = ps.trace(lambda a, b, loops=loops: linear_recurrence(a, b, loops=loops), a, b)(a, b)
        np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)
