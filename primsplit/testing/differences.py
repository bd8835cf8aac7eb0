"""Derivatives by central differences in float64."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
Arrays = Sequence[AnyArray]

STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))
"""(offset, weight) of the five-point formula, with an error of order step**4 (Abramowitz & Stegun 25.3.6)."""

STEPS = (1.0, 0.2, 0.04)
"""The steps that `agreement` tries, in units of the largest."""


def directional_derivative(
    function: Callable[[list[AnyArray]], float], point: Arrays, direction: Arrays, step: float = 1e-3
) -> float:
    """The derivative of a scalar function of arrays at `point` along `direction`."""
    (found,) = derivatives(lambda moved: [np.asarray(function(moved))], point, direction, step)
    return float(found)


def derivatives(
    function: Callable[[list[AnyArray]], Arrays], point: Arrays, direction: Arrays, step: float
) -> list[AnyArray]:
    """The derivative of each result of a function of arrays at `point` along `direction`."""
    totals: list[AnyArray] = []
    for offset, weight in STENCIL:
        moved = [p + offset * step * d for p, d in zip(point, direction, strict=True)]
        terms = [weight / step * np.asarray(r, np.float64) for r in function(moved)]
        totals = [t + r for t, r in zip(totals, terms, strict=True)] if totals else terms
    return totals


def directions(point: Arrays, random: np.random.Generator, most: int = 24) -> list[list[AnyArray]]:
    """All coordinate directions if there are few, else random ones; scaled to the point's entries."""
    total = sum(p.size for p in point)
    scale = [np.maximum(np.abs(p), 1.0) * 0.1 for p in point]
    if total > most:
        return [
            [random.uniform(-1.0, 1.0, p.shape) * s for p, s in zip(point, scale, strict=True)]
            for _ in range(most // 2)
        ]
    found = []
    for which, array in enumerate(point):
        for index in np.ndindex(array.shape):
            direction = [np.zeros_like(p) for p in point]
            direction[which][index] = scale[which][index]
            found.append(direction)
    return found


def pairing(left: Arrays, right: Arrays) -> float:
    """The inner product of two lists of arrays."""
    return float(sum(np.sum(a.astype(np.float64) * b) for a, b in zip(left, right, strict=True)))


def agreement(
    function: Callable[[list[AnyArray]], Arrays],
    point: Arrays,
    direction: Arrays,
    cotangents: Arrays,
    *,
    found: float,
    scale: float,
    tolerance: float,
    largest: float,
) -> str:
    """Return "" if central differences at two neighbouring steps both agree with `found`, else a text with their value.

    `found` is <cotangents, J direction>; an error of `tolerance * max(|wanted|, scale)` is allowed.
    """
    told: list[str] = []
    before = False
    for step in STEPS:
        wanted = pairing(cotangents, derivatives(function, point, direction, step * largest))
        error = abs(found - wanted)
        agrees = error <= tolerance * max(abs(wanted), scale)
        if agrees and before:
            return ""
        before = agrees
        told.append(f"{wanted:.12g} (step {step * largest:g})")
    return f"{found:.12g}, and by central differences {', '.join(told)}"
