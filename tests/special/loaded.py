"""Compare the slope of a file that is loaded again with differences of the function that it was made of.

A file holds operators, not the rules of the functions that they came from.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Function = Callable[[Any], Any]
STEP = 1e-5


def one_sided(function: Function, points: Numbers, step: float) -> Numbers:
    """The difference quotient on one side, without its first error."""
    near, far, here = (np.asarray(function(points + k * step)) for k in (1, 2, 0))
    is_constant = (near == here) & (far == here)  # also where all are infinite
    found: Numbers = np.where(is_constant, 0.0, (4 * near - far - 3 * here) / (2 * step))
    return found


def is_right(slope: float, value: float, sides: list[tuple[float, float]], scale: float) -> bool:
    """Whether a slope is NaN, or that of one side or between both; or infinite where a side's quotients grow.

    Each side has the quotient of a step and that of a smaller one.
    """
    if np.isnan(slope):
        return True
    if np.isnan(value):
        return False
    if np.isinf(value):
        return bool(np.isinf(slope)) or (slope == 0.0 and (0.0, 0.0) in sides)
    known = [(wide, narrow) for wide, narrow in sides if np.isfinite(wide)]
    slopes = [wide for wide, narrow in known if abs(wide - narrow) <= 1e-4 * (1e-3 + abs(wide)) + scale]
    if len(slopes) < len(sides) and np.isinf(slope):
        return True
    for wide, narrow in known:  # a quotient that shrinks with the step is that of a slope of 0
        slopes += [0.0, wide] if abs(narrow) < 0.9 * abs(wide) else []
    slack = 1e-5 * (1 + max(map(abs, slopes), default=0.0)) + scale
    return not slopes or min(slopes) - slack <= slope <= max(slopes) + slack


def wrong_slopes(function: Function, path: Path, points: Numbers) -> list[str]:
    """The points where the slope of the loaded file of a function is wrong, with the slopes."""
    with np.errstate(all="ignore"):
        ps.trace(lambda x: function(x), np.full(points.shape, 0.3)).save(path)
        model = ps.load(path)
        found = np.asarray(ps.grad(lambda x: np.sum(model(x)))(points))
        value = np.asarray(function(points))
        is_lost = ~np.isfinite(value) & np.isfinite(model(points))  # SciPy has infinity or NaN too early
        value = np.where(np.isfinite(value), value, model(points))
        # Differences of infinities are 0. There the slope is compared with differences of the file's own values.
        sides = [
            [
                np.where(is_lost, one_sided(model, points, side * h), one_sided(function, points, side * h))
                for h in (STEP, STEP / 10)
            ]
            for side in (-1, 1)
        ]
    said = []
    for i, x in enumerate(points):
        here = [(float(wide[i]), float(narrow[i])) for wide, narrow in sides]
        noise = 1e-14 / (STEP / 10) * (abs(value[i]) if np.isfinite(value[i]) else 0.0)
        if not is_right(found[i], value[i], here, noise):
            said.append(f"at {x:.6g}: {found[i]:.6g}, right {[w for w, _ in here]}, value {value[i]:.4g}")
    return said
