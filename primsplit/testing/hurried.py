"""Compares gradients along few directions where each run of the function takes long: a large network in plain NumPy.

Central differences of one short step, two runs a direction, confirm a gradient; with too many gradients for that, all
at once along common directions, in which each has about the same slope. A gradient that is not confirmed is compared as
in `lines`, however long that takes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from primsplit.testing.lines import Array, Line

LONG = 8.0
"""The seconds for all differences of a function whose runs take long."""
LINES, RUNS = 8, 8
"""The directions of a gradient and the runs for each of them, where runs are short."""
TOGETHER = 3
"""The common directions, if there is time."""
STEPS = (1e-8, 1e-4)
"""The shortest and longest step. A shorter one crosses fewer kinks, and rounding leaves it fewer digits."""
EVEN = 1e4
"""The most by which a gradient's common directions are lengthened for its slope to be like that of the others."""

Along = Mapping[int, Array]
"""Directions of arrays by their positions."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Gradients by position, with the errors allowed of each, and a function of moved arrays by position.

    `height` is the size of the numbers whose differences are taken.
    """

    gradients: Mapping[int, Array]
    tolerances: Mapping[int, float]
    function: Callable[[Along], float]
    point: Mapping[int, Array]
    height: float

    def confirmed(self, along: Along, reach: float = 1.0) -> float | None:
        """Return the relative error of the gradients' slope along these directions; None if it is too large.

        `reach` is the length of the longest direction, in units of the arrays' own sizes.
        """
        products = [self.gradients[i] * d for i, d in along.items()]
        found = float(sum(np.sum(p) for p in products))
        size = max(abs(found), float(np.sqrt(sum(np.sum(p**2) for p in products))))
        allowed = max(self.tolerances[i] for i in along) * size
        rounding = 50 * np.finfo(np.float64).eps * self.height
        step = max(STEPS[0], 10 * rounding / allowed) if allowed else np.inf
        if not step * reach <= STEPS[1]:
            return None
        ahead, behind = (self.function({i: self.point[i] + s * d for i, d in along.items()}) for s in (step, -step))
        error = abs(found - (ahead - behind) / (2 * step))
        return error / size if size and error <= allowed else None


def is_long(seconds: float, gradients: int) -> bool:
    """Whether comparing so many gradients takes too long, if a run takes so many seconds."""
    return seconds * gradients * LINES * RUNS > LONG


def confirmed_lines(claims: Claims, seconds: float, direction: Callable[[int], Array]) -> dict[int, Line]:
    """Return a comparison for each gradient that few differences confirm.

    `direction` returns a random direction for an array's position.
    """
    count = len(claims.gradients)
    each = min(LINES, int(LONG / (2 * seconds)) // max(count, 1))
    if not each and (together := _together(claims, seconds, direction)) is not None:
        return together
    lines = {}
    for i in claims.gradients:
        errors = [claims.confirmed({i: direction(i)}) for _ in range(max(each, 1))]
        known = [e for e in errors if e is not None]
        if len(known) == len(errors):
            lines[i] = Line(max(known), "ok", f"along {_counted(len(known))}")
    return lines


def _together(claims: Claims, seconds: float, direction: Callable[[int], Array]) -> dict[int, Line] | None:
    """Compare all gradients at once along common directions. Return None if they are not confirmed."""
    errors = []
    for _ in range(min(TOGETHER, max(1, int(LONG / (2 * seconds))))):
        along = {i: direction(i) for i in claims.gradients}
        slopes = {i: float(np.sqrt(np.sum((claims.gradients[i] * d) ** 2))) for i, d in along.items()}
        largest = max(slopes.values(), default=0.0)
        longer = {i: min(EVEN, largest / slope) if slope else 1.0 for i, slope in slopes.items()}
        error = claims.confirmed({i: d * longer[i] for i, d in along.items()}, max(longer.values(), default=1.0))
        if error is None:
            return None
        errors.append(error)
    line = Line(max(errors), "ok", f"all gradients along {_counted(len(errors))}")
    return dict.fromkeys(claims.gradients, line)


def _counted(directions: int) -> str:
    return "one random direction" if directions == 1 else f"{directions} random directions"
