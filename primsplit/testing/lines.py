"""Compares a derivative along one direction with central differences in float64.

Steps of the differences are made smaller until two of them agree. A derivative that misses them is right if its
program, evaluated in float64, agrees with them, and it is no further from that value than NumPy is in the program's own
dtypes: in float32, 1 - p of a p near 1 has few digits left, and so has the slope of a saturated sigmoid. At a kink any
slope between those of the two sides is right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from primsplit.testing.differences import derivatives

Array = npt.NDArray[Any]
Verdict = Literal["ok", "wrong", "unclear"]
Function = Callable[[list[Array]], Array]

ROUNDINGS = 4
"""The largest error of a file against float64, in multiples of the error of the NumPy function in its own dtypes."""
ROUNDS = "within rounding"

STEPS = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
FINE_STEPS = (3e-6, 1e-6, 3e-7, 1e-7)
"""Steps that can only confirm a derivative: rounding leaves their differences few digits."""


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one comparison; the error is relative."""

    error: float
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors allowed: `tolerance` relative to `size`, or to the derivative if that is larger.

    A tolerance below the rounding of the differences themselves leaves a mismatch unclear. `height` is the size of the
    numbers whose differences are taken. `rounded()` returns the derivative by its program in float64, and how far its
    own dtypes may be off.
    """

    tolerance: float
    size: float
    height: float
    rounded: Callable[[], tuple[Array, float]]


def compared(found: Array, function: Function, point: list[Array], along: list[Array], errors: Errors) -> Line:
    """Compare `found`, the claimed derivative of the function at the point along a direction, with differences."""
    if not np.all(np.isfinite(found)):
        return Line(np.inf, "wrong", "not finite")
    tolerance = errors.tolerance
    best, doubt, step = _settled(function, point, along, 0.1 * tolerance, errors.size)
    noise = 50 * np.finfo(np.float64).eps * errors.height / step
    size = max(errors.size, _largest(best))
    error = _largest(found - best)
    relative = error / size if size > noise else 0.0
    if error <= tolerance * size + noise:
        largest = max(size, errors.height)
        if error <= tolerance * size or tolerance * largest >= noise:
            return Line(relative, "ok")
        return Line(error / largest, "unclear", f"differences show no error below {noise / largest:.0e}")
    exact, rounding = errors.rounded()
    if _largest(exact - best) <= 0.1 * tolerance * size + noise and _largest(found - exact) <= ROUNDINGS * rounding:
        return Line(relative, "ok", ROUNDS)
    if _is_subgradient(function, point, along, found, best, tolerance * size):
        return Line(0.0, "ok", "at a kink")
    if (fine := _met_by(function, point, along, found, errors)) is not None:
        return fine
    if not doubt <= tolerance * size:
        return Line(relative if np.isfinite(relative) else np.inf, "unclear", "the differences do not settle")
    worst = np.unravel_index(np.argmax(np.abs(found - best)), best.shape)
    return Line(relative, "wrong", f"{found[worst]:.9g}, differences say {best[worst]:.9g}")


def _largest(array: Array) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def _settled(
    function: Function, point: list[Array], along: list[Array], tolerance: float, size: float
) -> tuple[Array, float, float]:
    """The derivative at the step where it changed least from the step before, that change, and the step."""
    best, doubt, step = np.asarray(np.nan), np.inf, STEPS[0]
    previous: Array | None = None
    for candidate in STEPS:
        (now,) = derivatives(lambda moved: [function(moved)], point, along, candidate)
        gap = np.inf if previous is None else _largest(now - previous)
        if previous is None or gap < doubt:
            best, doubt, step = now, gap, candidate
        if doubt <= tolerance * max(size, _largest(best)):
            break
        previous = now
    return best, doubt, step


def _met_by(function: Function, point: list[Array], along: list[Array], found: Array, errors: Errors) -> Line | None:
    """Give an "ok" if fine differences confirm a derivative that is not 0, else None: longer steps may cross a jump."""
    size = max(errors.size, _largest(found))
    for step in FINE_STEPS if _largest(found) else ():
        noise = 50 * np.finfo(np.float64).eps * errors.height / step
        (fine,) = derivatives(lambda moved: [function(moved)], point, along, step)
        error = _largest(found - fine)
        if noise <= errors.tolerance * size and error <= errors.tolerance * size:
            return Line(error / size, "ok", f"at steps of {step:.0e}")
    return None


def _is_subgradient(
    function: Function, point: list[Array], along: list[Array], found: Array, best: Array, margin: float
) -> bool:
    """Return whether elements that miss the differences lie between one-sided slopes that differ, ends included."""
    step = 1e-5
    here = np.asarray(function(point))
    right, left = (np.asarray(function([p + s * step * d for p, d in zip(point, along, strict=True)])) for s in (1, -1))
    low, high = np.sort([(right - here) / step, (here - left) / step], axis=0)
    rough = 1e-3 * np.maximum(np.abs(low), np.abs(high))
    is_kink = (high - low > 10 * (margin + rough)) & (low - rough <= found) & (found <= high + rough)
    return bool(np.all(is_kink | (np.abs(found - best) <= margin)))
