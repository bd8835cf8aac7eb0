"""Functions that do the same to both parts of complex arrays: NumPy's values, and gradients by both parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.numpy.agreement import check_grads
from tests.numpy.complex.rows import MATRIX, TURN, A, B, U, V, check_smooth, of, smooth

MATVEC = getattr(np, "matvec", np.matmul)
"""NumPy before 2.2 lacks it."""

ARRAYS: list[Callable[..., Any]] = [
    lambda z, w: z[1] + w[:, None, 2] * 2, lambda z, w: z[..., ::-1] * w[[0, 2, 1]], lambda z, w: z[z.real > 0],
    lambda z, w: z.reshape(4, -1) @ w.T.reshape(4, 3).T, lambda z, w: np.concatenate([z, w, z.real], axis=1),
    lambda z, w: np.stack([z, w.real, 1j * w.imag]), lambda z, w: np.hstack([z, TURN]) * np.vstack([w, w])[:1, :1],
    lambda z, w: z.sum() * w.mean(axis=0), lambda z, w: np.sum(z, axis=1, keepdims=True) + np.mean(w),
    lambda z, w: z @ w.T, lambda z, w: MATRIX @ z + np.dot(MATRIX, w.real), lambda z, w: np.dot(z, w[0].real) * 1j,
    lambda z, w: np.vdot(z, w) + np.inner(z[0], w[1]), lambda z, w: np.einsum("ij,kj->ik", z, w.conj()),
    lambda z, w: np.einsum("ij,ij,ik->jk", z, w, TURN), lambda z, w: np.einsum("ij->j", z),
    lambda z, w: np.outer(z[0], w[1]) + np.kron(z[0], w[0])[:4], lambda z, w: np.tensordot(z, w, axes=([0], [0])),
    lambda z, w: np.convolve(z[0], w[1]) + np.correlate(z[0], w[1], "full"), lambda z, w: np.cumsum(z, axis=1) + w,
    lambda z, w: np.diff(z, axis=0) * w[1:], lambda z, w: np.roll(z, 1, axis=1) * np.flip(w, 0),
    lambda z, w: np.polyval([1.0, 2j, w[0, 0], 0.5], z), lambda z, w: np.polyval(w[0].real, z),
    lambda z, w: np.var(z, axis=0), lambda z, w: np.std(z, axis=1, ddof=1) + w.var(),
    lambda z, w: np.polyval([1j, 2.0], z.real),
    lambda z, w: np.pad(z, ((0, 0), (1, 2))), lambda z, w: np.split(z, 2, axis=1), lambda z, w: z.T.copy().flatten(),
    lambda z, w: np.tile(z, (1, 2)) + np.repeat(w, 2, axis=1), lambda z, w: np.broadcast_to(z[0], (3, 4)) * w,
    lambda z, w: np.diagonal(z[:, :3]) + np.trace(w) + np.diag(w),
    lambda z, w: np.linalg.norm(z, axis=1) + abs(w[0])[1:],
    lambda z, w: np.zeros_like(z) + np.ones_like(w) * z + np.full_like(z, 2j), lambda z, w: np.squeeze(z[None], 0) * w,
    lambda z, w: np.expand_dims(z, 1) + np.moveaxis(w[None], 0, 1), lambda z, w: np.take(z, [2, 0], axis=1),
    lambda z, w: np.average(z, axis=0, weights=np.arange(3.0)), lambda z, w: np.vecdot(z, w) + MATVEC(z, w[0])[0],
    lambda z, w: np.add.reduce(z) + np.trapezoid(w, axis=0), lambda z, w: np.tril(z) + np.triu(w, 1),
    lambda z, w: np.append(z[0], w.real), lambda z, w: [row * 2 for row in z], lambda z, w: np.block([[z, w], [w, z]]),
    lambda z, w: np.round(z * 0.01 + 2.2 + 3.3j) * w,
    lambda z, w: np.atleast_2d(z[0]) + w, lambda z, w: np.gradient(z, axis=0),
    lambda z, w: z.astype(np.complex64).astype(complex) * 0 + w, lambda z, w: np.swapaxes(z, 0, 1).mT * w,
]  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("place", range(len(ARRAYS)))
def test_functions_of_arrays_are_numpys_and_have_right_gradients(place: int) -> None:
    check_grads(of(ARRAYS[place]), A, B, U, V, symbolic=False)


@pytest.mark.parametrize("name", smooth("linear"))
def test_it_is_numpys_and_has_right_gradients(name: str) -> None:
    check_smooth(name)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "out=": (lambda z: np.sum(z, out=z[0, 0]), "np.sum with out="),
    "constants of a pad": (lambda z: np.pad(z, 1, constant_values=1.0), "np.pad with constant_values="),
    "an order of a pad": (lambda z: np.pad(z, 1, mode="maximum"), "np.pad with mode='maximum'"),
    "weights": (lambda z: np.average(z, weights=z), "np.average with .*complex"),
    "another dtype of bytes": (lambda z: z.view(np.float64), "view, which reads bytes as another dtype"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_do_the_same_to_both_parts_is_refused(name: str) -> None:
    function, told = REFUSED[name]
    with pytest.raises(PrimsplitError, match=told) as caught:
        ps.trace(lambda x: abs(function(x + 1j)), A)
    assert "test_linear.py" in str(caught.value)
