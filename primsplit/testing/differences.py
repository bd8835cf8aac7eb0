"""Derivatives by central differences in float64."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Sequence[npt.NDArray[Any]]

STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))
"""(offset, weight) of the five-point formula, with an error of order step**4 (Abramowitz & Stegun 25.3.6)."""


def directional_derivative(
    function: Callable[[list[npt.NDArray[Any]]], float], point: Arrays, direction: Arrays, step: float = 1e-3
) -> float:
    """The derivative of a scalar function of arrays at `point` along `direction`."""
    total = 0.0
    for offset, weight in STENCIL:
        moved = [p + offset * step * d for p, d in zip(point, direction, strict=True)]
        total += weight * float(function(moved))
    return total / step


def directions(point: Arrays, random: np.random.Generator, most: int = 24) -> list[list[npt.NDArray[Any]]]:
    """Every coordinate direction where there are few, else random ones; scaled to the point's entries."""
    total = sum(p.size for p in point)
    scale = [np.maximum(np.abs(p), 1.0) * 0.1 for p in point]
    if total <= most:
        found = []
        for which, array in enumerate(point):
            for index in np.ndindex(array.shape):
                direction = [np.zeros_like(p) for p in point]
                direction[which][index] = scale[which][index]
                found.append(direction)
        return found
    return [[random.standard_normal(p.shape) * s for p, s in zip(point, scale, strict=True)] for _ in range(most // 2)]
