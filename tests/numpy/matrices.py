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
