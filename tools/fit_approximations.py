"""Derive the polynomials and rational functions of the compositions, and those of integrals that are functions.

    python tools/fit_approximations.py [NAME.py ...]      write these tables, or all; needs mpmath

Each target is a smooth function on an interval. It is sampled at Chebyshev points and fitted in the relative sense by
iterated linear least squares (Sanathanan and Koerner, IEEE Trans. Automat. Control 8, 1963), with Lawson's reweighting
(1961) towards the least maximum. The largest relative error of each fit, at 50 digits, is written beside it; all are
below 2e-17, a tenth of the rounding of a double.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import mpmath as mp

FOLDER = Path(__file__).parent.parent / "primsplit" / "passes" / "compositions"
ERFCX_SCALE = 4
ZERO_OF_DIGAMMA_GUESS = 1.4616321449683623
ZERO_OF_EI_GUESS = 0.3725


@dataclass(frozen=True)
class Target:
    """What to fit: a function on [low, high] by a numerator and a denominator of these degrees.

    The origin of their powers is the low end where poles lie to the left of it: all coefficients of the denominator
    are positive then, and nothing cancels.
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


def targets() -> list[Target]:
    """List everything that is fitted."""
    zero = mp.findroot(mp.digamma, ZERO_OF_DIGAMMA_GUESS)
    scale = ERFCX_SCALE
    least = (mp.mpf("0.5") - scale) / (mp.mpf("0.5") + scale)
    almost_none = mp.mpf("1e-12")
    seventh = mp.mpf(1) / 36
    return [
        Target("ERF", "erf(x) / x, in x**2", lambda v: mp.erf(mp.sqrt(v)) / mp.sqrt(v), almost_none, 0.25, (8, 0)),
        Target(
            "ERFCX",
            f"(1 + 2 x) exp(x**2) erfc(x), in t with x = {scale} (1 + t) / (1 - t)",
            lambda t: scaled_erfcx(scale * (1 + t) / (1 - t)),
            least,
            1 - almost_none,
            (22, 0),
        ),
        Target("ERFINV_CENTRE", "erfinv(y) / y, in w = -log(1 - y**2)", erfinv_over_y, almost_none, 6, (9, 9)),
        Target(
            "ERFINV_TAIL",
            "erfinv(y) / s, in s = sqrt(w) with w = -log(1 - y**2)",
            lambda s: erfinv_of(s * s) / s,
            mp.sqrt(6),
            6.1,
            (10, 10),
            2.25,
        ),
        Target("LGAMMA", "lgamma(z) / ((z - 1) (z - 2))", lgamma_between_zeros, 0.5, 6, (10, 10), 0.5),
        Target("STIRLING", "x (lgamma(x) - Stirling), in 1 / x**2", stirling_rest, almost_none, seventh, (4, 3)),
        Target("DIGAMMA", "digamma(x) / (x - x0)", lambda x: mp.digamma(x) / (x - zero), 1, 6, (8, 8), 1.0),
        Target(
            "DIGAMMA_TAIL",
            "x**2 (log(x) - 1 / (2 x) - digamma(x)), in 1 / x**2",
            psi_rest,
            almost_none,
            seventh,
            (8, 0),
        ),
        Target("TRIGAMMA", "trigamma(x)", lambda x: mp.psi(1, x), 1, 6, (8, 8), 1.0),
        Target(
            "TRIGAMMA_TAIL",
            "x**3 (trigamma(x) - 1 / x - 1 / (2 x**2)), in 1 / x**2",
            trigamma_rest,
            almost_none,
            seventh,
            (9, 0),
        ),
        *(
            Target(
                f"BESSEL_I{n}_TAIL",
                f"exp(-x) sqrt(x) I{n}(x), in 1 / x",
                partial(scaled_bessel, n),
                mp.mpf("1e-5"),
                mp.mpf(1) / 8,
                (24, 0),
                1 / 16,
            )
            for n in (0, 1)
        ),
        Target(
            "ERFINV_FAR",
            "erfinv(y) / s, in s = sqrt(w) with w = -log(1 - y**2)",
            lambda s: erfinv_of(s * s) / s,
            6.1,
            27.5,
            (8, 8),
            6.0,
        ),
        *oscillating_targets(),
    ]


def oscillating_targets() -> list[Target]:
    """List what J0 and J1 are made of: without their zeros up to 8, and the modulus of each phase from there on."""
    made = []
    for n in (0, 1):
        product = "".join(f" (x**2 - j{n}{k}**2)" for k in (1, 2))
        formula = f"J{n}(x) / ({'x ' if n else ''}{product.strip()}), in x**2"
        made.append(Target(f"BESSEL_J{n}", formula, partial(without_zeros, n), mp.mpf("1e-12"), 64, (14, 0), 32.0))
        for part, text in ((0, "the cosine's factor"), (1, "x times the sine's factor")):
            name, formula = f"BESSEL_J{n}_{'PQ'[part]}", f"{text} in sqrt(pi x / 2) J{n}(x), in 1 / x**2"
            low, high = mp.mpf("1e-6"), mp.mpf(1) / 64
            made.append(Target(name, formula, partial(phase_factor, n, part), low, high, (6, 6)))
    return made


def without_zeros(order: int, v: Any) -> Any:
    """J0 or J1 of sqrt(v) over the factors of its zeros up to 8."""
    x = mp.sqrt(v)
    first, second = (mp.besseljzero(order, k) for k in (1, 2))
    return mp.besselj(order, x) / x**order / ((v - first**2) * (v - second**2))


def phase_factor(order: int, part: int, v: Any) -> Any:
    """P, or x Q, of Hankel's expansion (NIST Digital Library of Mathematical Functions, 10.17.3), as functions."""
    x = 1 / mp.sqrt(v)
    phase = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
    found = mp.sqrt(mp.pi * x / 2) * mp.expj(-phase) * mp.hankel1(order, x)
    return x * found.imag if part else found.real


def scaled_bessel(order: int, t: Any) -> Any:
    """exp(-x) sqrt(x) I(x) of an order, as a function of t = 1 / x."""
    return mp.exp(-1 / t) * mp.besseli(order, 1 / t) / mp.sqrt(t)


def scaled_erfcx(x: Any) -> Any:
    """(1 + 2 x) exp(x**2) erfc(x), by its asymptotic series where erfc is too small."""
    if x < 40:
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)
    terms = ((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(26))
    return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * mp.fsum(terms)


def erfinv_of(w: Any) -> Any:
    """erfinv(sqrt(1 - exp(-w))), by Newton on log(erfc(x)), which is nearly a parabola."""
    y = mp.sqrt(-mp.expm1(-w))
    rest = mp.exp(-w) / (1 + y)
    x = mp.sqrt(w) * mp.mpf("0.9")
    for _ in range(80):
        step = mp.log(mp.erfc(x) / rest) * mp.erfc(x) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
        x += step
        if abs(step) < mp.mpf(10) ** (5 - mp.mp.dps) * x:
            return x
    raise ArithmeticError(f"no convergence at w = {w}")


def erfinv_over_y(w: Any) -> Any:
    """erfinv(y) / y as a function of w."""
    return erfinv_of(w) / mp.sqrt(-mp.expm1(-w))


def lgamma_between_zeros(z: Any) -> Any:
    """lgamma without its zeros at 1 and 2."""
    return mp.loggamma(z) / ((z - 1) * (z - 2))


def stirling_rest(v: Any) -> Any:
    """What Stirling's formula leaves, times x."""
    x = 1 / mp.sqrt(v)
    return x * (mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def psi_rest(v: Any) -> Any:
    """What log(x) - 1 / (2 x) leaves of digamma, times -x**2."""
    x = 1 / mp.sqrt(v)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def trigamma_rest(v: Any) -> Any:
    """What 1 / x + 1 / (2 x**2) leaves of trigamma, times x**3."""
    x = 1 / mp.sqrt(v)
    return x**3 * (mp.psi(1, x) - 1 / x - 1 / (2 * x * x))


def fit(target: Target, rounds: int = 8) -> Fit:
    """The best of some rounds of reweighted least squares, in t = (x - centre) / half_width."""
    top, bottom = target.degrees
    count = 4 * (top + bottom + 2)
    points = [mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    centre, half = middle(target)
    values = [target.function(centre + half * t) for t in points]
    divisors, weights = [mp.mpf(1)] * count, [mp.mpf(1)] * count
    fits = []
    for _ in range(rounds):
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


def written(target: Target) -> list[str]:
    """The lines of one table entry."""
    result = fit(target)
    centre, half = middle(target)
    origin = target.origin
    top, bottom = (about(part, centre - origin, half) for part in (result.numerator, result.denominator))
    unit = bottom[0]
    top, bottom = [c / unit for c in top], [c / unit for c in bottom]
    low, high = (mp.nstr(mp.chop(mp.mpf(end), mp.mpf("1e-11")), 6) for end in (target.low, target.high))
    lines = [
        f"# {target.formula}, for {low} to {high}; relative error {mp.nstr(result.error, 2)}",
        f"{target.name} = Rational(",
    ]
    lines += tuple_of("numerator", top)
    if len(bottom) > 1:
        lines += tuple_of("denominator", bottom)
    if origin:
        lines.append(f"    origin={float(origin)!r},")
    return [*lines, ")", ""]


def tuple_of(name: str, coefficients: Sequence[Any]) -> list[str]:
    """The lines of one tuple of coefficients."""
    return [f"    {name}=(", *[f"        {written_number(c)}," for c in coefficients], "    ),"]


def written_number(c: Any) -> str:
    """A coefficient as the formatter writes it."""
    return repr(float(c)).replace("e+", "e")


def digamma_zero() -> list[str]:
    """The lines of the positive zero of digamma."""
    zero = mp.findroot(mp.digamma, ZERO_OF_DIGAMMA_GUESS)
    high = float(zero)
    return [
        "# The positive zero of digamma, in two parts.",
        f"DIGAMMA_ZERO = ({high!r}, {float(zero - mp.mpf(high))!r})",
        "",
    ]


def bessel_zeros() -> list[str]:
    """The lines of the zeros of J0 and J1 up to 8."""
    lines = ["# The first two positive zeros of J0 and of J1, each in two parts.", "BESSEL_J_ZEROS = ("]
    for order in (0, 1):
        zeros = [mp.besseljzero(order, k) for k in (1, 2)]
        parts = [f"({float(z)!r}, {float(z - mp.mpf(float(z)))!r})" for z in zeros]
        lines.append(f"    ({', '.join(parts)}),")
    return [*lines, ")", ""]


def integral_targets() -> list[Target]:
    """List what the exponential integrals and the Bessel functions K0 and K1 are made of."""
    none = mp.mpf("1e-12")
    zero = mp.findroot(mp.ei, ZERO_OF_EI_GUESS)
    made = [
        Target(
            "EXP1", "(E1(x) + log(x) + euler) / x", lambda x: (mp.e1(x) + mp.log(x) + mp.euler) / x, none, 1, (12, 0)
        ),
        Target("EXP1_TAIL", "x exp(x) E1(x), in 1 / x", lambda t: mp.exp(1 / t) * mp.e1(1 / t) / t, none, 1, (12, 12)),
        Target("EXPI", "(Ei(x) - log(x / x0)) / (x - x0)", partial(expi_without_zero, zero), none, 6, (9, 9)),
    ]
    scaled = "x exp(-x) Ei(x), in 1 / x"
    made += [
        Target("EXPI_FAR", scaled, scaled_expi, mp.mpf(1) / 12, mp.mpf(1) / 6, (10, 10)),
        Target("EXPI_FARTHER", scaled, scaled_expi, mp.mpf(1) / 24, mp.mpf(1) / 12, (10, 10)),
        Target("EXPI_FARTHEST", scaled, scaled_expi, none, mp.mpf(1) / 24, (24, 0), 1 / 48),
    ]
    k0, k1 = "K0(x) + log(x / 2) I0(x), in x**2", "(K1(x) - 1 / x - log(x / 2) I1(x)) / x, in x**2"
    made += [
        Target("BESSEL_K0", k0, lambda v: second_kind(0, mp.sqrt(v)), none, 1, (8, 0)),
        Target("BESSEL_K1", k1, lambda v: second_kind(1, mp.sqrt(v)), none, 1, (8, 0)),
    ]
    for n in (0, 1):
        formula = f"exp(x) sqrt(x) K{n}(x), in 1 / x"
        made.append(Target(f"BESSEL_K{n}_TAIL", formula, partial(scaled_second_kind, n), none, 1, (10, 10)))
    return made


def expi_without_zero(zero: Any, x: Any) -> Any:
    """Ei without its logarithm and its zero."""
    return (mp.ei(x) - mp.log(x / zero)) / (x - zero)


def scaled_expi(t: Any) -> Any:
    """x exp(-x) Ei(x), as a function of t = 1 / x."""
    return mp.exp(-1 / t) * mp.ei(1 / t) / t


def second_kind(order: int, x: Any) -> Any:
    """What the logarithm leaves of K0, or the logarithm and the pole of K1, over x."""
    rest = mp.besselk(order, x) + (-1) ** order * mp.log(x / 2) * mp.besseli(order, x)
    return (rest - 1 / x) / x if order else rest


def scaled_second_kind(order: int, t: Any) -> Any:
    """exp(x) sqrt(x) K(x) of an order, as a function of t = 1 / x."""
    return mp.exp(1 / t) * mp.besselk(order, 1 / t) / mp.sqrt(t)


def expi_zero() -> list[str]:
    """The lines of the zero of Ei."""
    zero = mp.findroot(mp.ei, ZERO_OF_EI_GUESS)
    high = float(zero)
    return ["# The zero of Ei, in two parts.", f"EXPI_ZERO = ({high!r}, {float(zero - mp.mpf(high))!r})", ""]


def constants() -> list[str]:
    """The lines of the constants beside the fits of the compositions."""
    return [f"ERFCX_SCALE = {ERFCX_SCALE}.0", "", *digamma_zero(), *bessel_zeros()]


TABLES: dict[str, tuple[Callable[[], list[str]], Callable[[], list[Target]]]] = {
    "coefficients.py": (constants, targets),
    "integral_coefficients.py": (expi_zero, integral_targets),
}
"""What stands first in each table, and what is fitted."""


def write_table(name: str, command: str, first: Sequence[str], fitted: Sequence[Target]) -> None:
    """Write the table that a command makes: what stands first in it, and the fits."""
    lines = [
        f'"""Coefficients of special functions. Made by `python {command}`; do not edit."""',
        "",
        "from primsplit.passes.compositions.rational import Rational",
        "",
        *first,
    ]
    for target in fitted:
        lines += written(target)
    (FOLDER / name).write_text("\n".join(lines[:-1]) + "\n")


def main(names: Sequence[str]) -> None:
    """Write the tables of these names."""
    mp.mp.dps = 100
    for name in names or TABLES:
        first, fitted = TABLES[name]
        write_table(name, "tools/fit_approximations.py", first(), fitted())


if __name__ == "__main__":
    main(sys.argv[1:])
