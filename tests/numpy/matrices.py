"""Matrices to test with: drawn from a seed, far from singular, symmetric, positive definite."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    """Return standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def regular(*shape: int, seed: int = 0) -> Array:
    """Return matrices far from singular."""
    return normal(*shape, seed=seed) + 3 * np.eye(shape[-1])


def symmetric(*shape: int, seed: int = 0) -> Array:
    """Return symmetric matrices."""
    x = normal(*shape, seed=seed)
    return x + np.swapaxes(x, -1, -2)


def definite(*shape: int, seed: int = 0) -> Array:
    """Return symmetric matrices whose eigenvalues are at least their number of rows."""
    x = normal(*shape, seed=seed)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


HARD: dict[str, np.ndarray[Any, Any]] = {
    "nothing": np.zeros((0, 0)),
    "zero": np.zeros((3, 3)),
    "the unit matrix": np.eye(4),
    "a Jordan block": np.eye(3) * 2 + np.eye(3, k=1),
    "a cycle": np.roll(np.eye(6), 1, 0),
    "tiny": 1e-200 * normal(4, 4),
    "huge": 1e300 * normal(4, 4),
    "elements far apart": np.array([[1.0, 1e-300], [1e300, 2.0]]) * 1e-5,
}
"""Matrices whose eigenvalues are hard to find."""


def parts(w: Any) -> Any:
    """Both parts of real or complex numbers, along a new first axis."""
    return np.stack([w.real, w.imag if w.dtype.kind == "c" else 0 * w])
