"""The verdict of central and one-sided differences on a derivative: right, wrong, or at no smooth point."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.testing import directional_derivative

Verdict = tuple[str, str]
Scalar = Callable[[list[Any]], float]
TOLERANCES = {"float16": 5e-2, "bfloat16": 2e-1, "float32": 2e-3, "float64": 1e-6}
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
ROUGH = {"at a kink", "at a jump", "at an edge"}
"""The verdicts of points without a derivative: one-sided slopes differ; the value leaps; or it ends or is steep."""


def refused(error: Exception, word: str = "refused") -> Verdict:
    """The verdict on what was refused: the first line tells why."""
    return word, str(error).splitlines()[0]


def compared(
    scalar: Scalar, point: list[Any], direction: list[Any], found: float, *, size: float, tolerance: float
) -> Verdict:
    """The verdict on `found`, a scalar function's derivative along a direction; `size` is that of its terms.

    right; at a kink, at a jump, at an edge; not a number, where the function has a slope; or wrong.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        scalar(point)
        try:
            slopes = [directional_derivative(scalar, point, direction, step) for step in STEPS]
            near = {step: _around(scalar, point, direction, step) for step in (1e-5, 1e-6, 1e-7)}
        except (ValueError, IndexError) as error:
            if isinstance(error, IndexError) or "broadcast" in str(error):
                return "at a jump", "the result's shape changes"
            raise
    if min(abs(found - s) / max(abs(s), size, 1e-3) for s in slopes) <= tolerance:
        return "right", ""
    return _rough(near, found, size) or ("wrong", f"{found:.8g} against {', '.join(f'{s:.8g}' for s in slopes)}")


def _around(scalar: Scalar, point: list[Any], direction: list[Any], step: float) -> tuple[float, float, float]:
    """The values behind, here and ahead."""
    behind, here, ahead = (
        scalar([p + sign * step * d for p, d in zip(point, direction, strict=True)]) for sign in (-1, 0, 1)
    )
    return behind, here, ahead


def _rough(near: dict[float, tuple[float, float, float]], found: float, size: float) -> Verdict | None:
    """Why the function has no derivative here; None where one-sided differences agree with each other."""
    if not np.isfinite(list(near.values())).all():
        return "at an edge", "a value beside it is not finite"
    widest = [max(abs(ahead - here), abs(here - behind)) for behind, here, ahead in near.values()]
    if widest[2] > 0.05 * widest[0] and widest[2] > 1e-9 * max(1.0, abs(near[1e-7][1])):
        grown = "the value jumps" if widest[2] > 0.5 * widest[0] else "the slope grows without bound"
        return ("at a jump" if widest[2] > 0.5 * widest[0] else "at an edge"), grown
    if not np.isfinite(found):
        return "not a number", f"{found}, where the differences are finite"
    behind, here, ahead = near[1e-6]
    sides = (ahead - here) / 1e-6, (here - behind) / 1e-6
    if not np.isclose(*sides, rtol=1e-3, atol=1e-6 * max(size, 1.0)):
        return "at a kink", f"slopes {sides[1]:.6g} and {sides[0]:.6g}"
    return None


def drawn(random: np.random.Generator, value: Any) -> Any:
    """A cotangent or tangent: zero where the value is not finite, which has no slope."""
    numbers = random.standard_normal(value.shape).astype(value.dtype)
    return np.where(np.isfinite(value.astype(float)), numbers, np.zeros_like(numbers))


def pairing(left: Sequence[Any], right: Sequence[Any]) -> float:
    """The sum of products. Nothing meets a zero of `right`."""
    return float(
        sum(np.sum(np.where(b == 0, 0, a.astype(float)) * b.astype(float)) for a, b in zip(left, right, strict=True))
    )


def size_of(left: Sequence[Any], right: Sequence[Any]) -> float:
    """The sum of the products' absolute values."""
    return pairing([np.abs(a.astype(float)) for a in left], [np.abs(b.astype(float)) for b in right])


def moved(inputs: list[Any], positions: Sequence[int], seed: int) -> list[Any]:
    """The inputs, floats at these positions moved a little: by chance, upwards, or downwards."""
    random = np.random.default_rng(seed)
    found = list(inputs)
    for i in positions:
        noise = random.standard_normal(found[i].shape)
        noise = (noise, np.abs(noise), -np.abs(noise))[seed % 3]
        found[i] = (found[i].astype(float) + 0.05 * noise).astype(found[i].dtype)
    return found
