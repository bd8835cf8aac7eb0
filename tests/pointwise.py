"""Functions of arrays element by element: points to try them at, and the gradient of their sum."""

from collections.abc import Callable
from typing import Any

import numpy as np

import primsplit as ps


def between(low: float, high: float, shape: tuple[int, ...] = (3, 4), seed: int = 0) -> Any:
    """Numbers between two others, the same ones each time."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def gradient(function: Callable[..., Any], *point: Any, wrt: Any = 0) -> Any:
    """The gradient of the sum, at a point that may be special."""
    return ps.grad(lambda *xs: np.sum(function(*xs)), wrt)(*map(np.asarray, point))
