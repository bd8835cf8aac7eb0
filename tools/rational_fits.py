"""Fits of functions by polynomials and rational functions, and the file that they are written to.

A smooth function on an interval is sampled at Chebyshev points and fitted in the relative sense by iterated linear
least squares (Sanathanan and Koerner, IEEE Trans. Automat. Control 8, 1963), with Lawson's reweighting (1961) towards
the least maximum. The largest relative error of each fit, at 50 digits, is written beside it; all are below 2e-17, a
tenth of the rounding of a double. mpmath computes with 100 digits.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp

FILE = Path(__file__).parents[1] / "primsplit/numpy/approximations/fits.json"
DIGITS = 100
ROUNDS = 8


@dataclass(frozen=True)
class Target:
    """The target of a fit: a function on [low, high], and the degrees of numerator and denominator.

    The origin of their powers is the low end if poles lie to the left of it: all coefficients of the denominator are
    positive then, and nothing cancels.
    """

    name: str
    formula: str
    function: Callable[[Any], Any]
    low: Any
    high: Any
    degrees: tuple[int, int]
    origin: float = 0.0


@dataclass(frozen=True)
class Fit:
    """Coefficients, constant first, in t, and the largest relative error."""

    numerator: Sequence[Any]
    denominator: Sequence[Any]
    error: Any


def fit(target: Target) -> Fit:
    """The best of `ROUNDS` rounds of reweighted least squares, in t = (x - centre) / half_width."""
    top, bottom = target.degrees
    count = 4 * (top + bottom + 2)
    points = [mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    centre, half = middle(target)
    values = [target.function(centre + half * t) for t in points]
    divisors, weights = [mp.mpf(1)] * count, [mp.mpf(1)] * count
    fits = []
    for _ in range(ROUNDS):
        rows = [
            [mp.sqrt(weight) / (divisor * value) * entry for entry in equation(t, value, top, bottom)]
            for t, value, divisor, weight in zip(points, values, divisors, weights, strict=True)
        ]
        solution = mp.lu_solve(mp.matrix([row[:-1] for row in rows]), mp.matrix([row[-1] for row in rows]))
        numerator = [solution[i] for i in range(top + 1)]
        denominator = [mp.mpf(1), *(solution[i] for i in range(top + 1, top + bottom + 1))]
        divisors = [polynomial(denominator, t) for t in points]
        errors = [
            abs(polynomial(numerator, t) / divisor / value - 1)
            for t, divisor, value in zip(points, divisors, values, strict=True)
        ]
        fits.append(Fit(numerator, denominator, max(errors)))
        weights = [w * (e / max(errors) + mp.mpf("1e-3")) for w, e in zip(weights, errors, strict=True)]
        weights = [w * count / mp.fsum(weights) for w in weights]
    return min(fits, key=lambda one: one.error)


def equation(t: Any, value: Any, top: int, bottom: int) -> list[Any]:
    """One row of numerator(t) - value (denominator(t) - 1) = value, the right side last."""
    return [t**i for i in range(top + 1)] + [-value * t**i for i in range(1, bottom + 1)] + [value]


def middle(target: Target) -> tuple[Any, Any]:
    """The centre and half the width of a target's interval."""
    low, high = mp.mpf(target.low), mp.mpf(target.high)
    return (low + high) / 2, (high - low) / 2


def polynomial(coefficients: Sequence[Any], t: Any) -> Any:
    """The value at t of a polynomial, constant first."""
    return mp.polyval(list(reversed(coefficients)), t)


def about(coefficients: Sequence[Any], centre: Any, half: Any) -> list[Any]:
    """The coefficients in x of a polynomial given in t = (x - centre) / half."""
    result = [mp.mpf(0)] * len(coefficients)
    power = [mp.mpf(1)]
    for coefficient in coefficients:
        result = [r + coefficient * p for r, p in zip(result, power + [0] * len(result), strict=False)]
        power = [(low - centre * high) / half for low, high in zip([0, *power], [*power, 0], strict=True)]
    return result


def row(target: Target) -> dict[str, Any]:
    """Return a fit as the file holds it: coefficients from the constant upwards."""
    result = fit(target)
    centre, half = middle(target)
    origin = target.origin
    top, bottom = (about(part, centre - origin, half) for part in (result.numerator, result.denominator))
    top, bottom = ([float(c / bottom[0]) for c in part] for part in (top, bottom))
    low, high = (mp.nstr(mp.chop(mp.mpf(end), mp.mpf("1e-11")), 6) for end in (target.low, target.high))
    says = f"{target.formula}, for {low} to {high}; relative error {mp.nstr(result.error, 2)}"
    return {
        "fit": says,
        "numerator": top,
        **({"denominator": bottom} if len(bottom) > 1 else {}),
        **({"origin": float(origin)} if origin else {}),
    }


def write(targets: Callable[[], Sequence[Target]]) -> None:
    """Fit these targets and write them into the package's file of fits, among the others."""
    mp.mp.dps = DIGITS
    rows = json.loads(FILE.read_text()) | {target.name: row(target) for target in targets()}
    lines = [f" {json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
