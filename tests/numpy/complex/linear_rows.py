"""Rows of functions of complex matrices, and the modules of `primsplit.numpy.complex` that they are about."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_grads

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((2, 4, 4)) + np.array([2 * np.eye(4), np.zeros((4, 4))])
B, C = RANDOM.standard_normal((2, 4, 3))
S, T = RANDOM.standard_normal((2, 2, 3, 3))
SEVERAL_X, SEVERAL_Y = np.stack([X, X.T + np.eye(4)]), np.stack([Y, Y.T])

Function = Callable[..., Any]
LINALG = np.linalg


def parts(found: Any) -> tuple[Any, ...]:
    if isinstance(found, tuple | list):
        return tuple(p for each in found for p in parts(each))
    return (found.real, found.imag) if np.iscomplexobj(found) else (found,)


def definite(z: Any) -> Any:
    return z @ z.conj().mT + np.eye(z.shape[-1])


def spectral(z: Any) -> Any:
    """A function of a Hermitian matrix, which no phase of an eigenvector changes."""
    values, vectors = LINALG.eigh(z)
    return (vectors * np.sin(values)[..., None, :]) @ vectors.conj().mT


ONE: dict[str, Function] = {
    "inv": LINALG.inv,
    "det": LINALG.det,
    "slogdet": lambda z: tuple(LINALG.slogdet(z)),
    "cholesky": lambda z: LINALG.cholesky(definite(z)),
    "cholesky, upper": lambda z: LINALG.cholesky(definite(z), upper=True),
    "qr": lambda z: tuple(LINALG.qr(z)),
    "qr, R alone": lambda z: LINALG.qr(z, "r"),
    "eigvalsh": LINALG.eigvalsh,
    "eigvalsh, upper": lambda z: LINALG.eigvalsh(z, "U"),
    "eigh": spectral,
    "eigh, vectors": lambda z: np.abs(LINALG.eigh(z, UPLO="U")[1]),
    "matrix_power": lambda z: LINALG.matrix_power(z, 3),
    "matrix_power of the inverse": lambda z: LINALG.matrix_power(z, -2),
    "matrix_power 0": lambda z: LINALG.matrix_power(z, 0) * z,
    "pinv, Hermitian": lambda z: LINALG.pinv(definite(z), hermitian=True),
}
SEVERAL: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "solve": (lambda a, b, c, d: LINALG.solve(a + 1j * b, c + 1j * d), (X, Y, B, C)),
    "solve of a vector": (lambda a, b, c: LINALG.solve(a + 1j * b, c[:, 0]), (X, Y, B)),
    "solve of a real matrix": (lambda a, b, c: LINALG.solve(a, b + 1j * c), (X, B, C)),
    "solve of many": (lambda a, b, s, t: LINALG.solve(a[:3, :3] + 1j * b[:3, :3], s + 1j * t), (X, Y, S, T)),
    "qr of a tall matrix": (lambda a, b: tuple(LINALG.qr(a + 1j * b)), (B, C)),
    "qr of a wide matrix": (lambda a, b: tuple(LINALG.qr(a.T + 1j * b.T)), (B, C)),
    "pinv": (lambda a, b: LINALG.pinv(a + 1j * b), (B, C)),
    "pinv, with rtol": (lambda a, b: LINALG.pinv(a.T + 1j * b.T, rtol=None), (B, C)),
}


LONG = {
    "eigvalsh, upper", "eigh, vectors", "qr, R alone", "cholesky, upper", "matrix_power of the inverse",
    "pinv, with rtol",
}  # fmt: skip
"""Options of functions that other rows differentiate: slow tests."""


def slowly(names: Iterable[str], long: Collection[str]) -> list[Any]:
    """The names as parameters of a test, which is slow for those that are long."""
    return [pytest.param(n, marks=[pytest.mark.slow] * (n in long)) for n in names]


MODULES = {
    "factors": "cholesky|cholesky, upper",
    "elimination": "det|slogdet",
    "reflections": "qr|qr, R alone|qr of a tall matrix|qr of a wide matrix",
    "systems": "inv|matrix_power|matrix_power of the inverse|matrix_power 0|pinv, Hermitian|pinv|pinv, with rtol|solve"
    "|solve of a vector|solve of a real matrix|solve of many",
    "hermitian": "eigvalsh|eigvalsh, upper|eigh|eigh, vectors",
}
"""The rows by module."""


def rows_of(module: str) -> list[Any]:
    """Return the names of the rows of a module, as parameters of a test."""
    return slowly(MODULES[module].split("|"), LONG)


def check_row(name: str) -> None:
    """Check values against NumPy at any size, and gradients against central differences."""
    if name in ONE:
        check_grads(
            lambda a, b: parts(ONE[name](a + 1j * b)), SEVERAL_X, SEVERAL_Y, value_tolerance=1e-10, resize=(1, 0, 3)
        )
    else:
        function, given = SEVERAL[name]
        check_grads(lambda *g: parts(function(*g)), *given, value_tolerance=1e-10)
