"""Fit what the error functions, the gamma function and the exponential integrals are made of.

`python -m tools.fit_approximations` writes them into the file of fits; it needs mpmath.
"""

from functools import partial
from typing import Any

import mpmath as mp

from tools.rational_fits import Target, write

ERFCX_SCALE = 4
ZERO_OF_DIGAMMA_GUESS = 1.4616321449683623
ZERO_OF_EI_GUESS = 0.3725


def targets() -> list[Target]:
    """List what the error functions, the gamma function and its derivatives are made of."""
    return [
        *error_function_targets(),
        *gamma_targets(),
        *digamma_targets(),
        erfinv_target("FAR", 6.1, 27.5, 8, 6.0),
        *integral_targets(),
    ]


def error_function_targets() -> list[Target]:
    """List what erf, erfcx and, near the centre and beside it, erfinv are made of."""
    none = mp.mpf("1e-12")
    scale = ERFCX_SCALE
    least = (mp.mpf("0.5") - scale) / (mp.mpf("0.5") + scale)
    return [
        Target("ERF", "erf(x) / x, in x**2", lambda v: mp.erf(mp.sqrt(v)) / mp.sqrt(v), none, 0.25, (8, 0)),
        Target(
            "ERFCX",
            f"(1 + 2 x) exp(x**2) erfc(x), in t with x = {scale} (1 + t) / (1 - t)",
            lambda t: scaled_erfcx(scale * (1 + t) / (1 - t)),
            least,
            1 - none,
            (22, 0),
        ),
        Target("ERFINV_CENTRE", "erfinv(y) / y, in w = -log(1 - y**2)", erfinv_over_y, none, 6, (9, 9)),
        erfinv_target("TAIL", mp.sqrt(6), 6.1, 10, 2.25),
    ]


def erfinv_target(part: str, low: Any, high: float, degree: int, origin: float) -> Target:
    """Return the part of erfinv near y = 1 that is fitted."""
    formula = "erfinv(y) / s, in s = sqrt(w) with w = -log(1 - y**2)"
    return Target(f"ERFINV_{part}", formula, lambda s: erfinv_of(s * s) / s, low, high, (degree, degree), origin)


def gamma_targets() -> list[Target]:
    """List what lgamma is made of."""
    none, from_six = mp.mpf("1e-12"), mp.mpf(1) / 36
    return [
        Target("LGAMMA", "lgamma(z) / ((z - 1) (z - 2))", lgamma_between_zeros, 0.5, 6, (10, 10), 0.5),
        Target("STIRLING", "x (lgamma(x) - Stirling), in 1 / x**2", stirling_rest, none, from_six, (4, 3)),
    ]


def digamma_targets() -> list[Target]:
    """List what digamma and trigamma are made of."""
    none, from_six = mp.mpf("1e-12"), mp.mpf(1) / 36
    zero = mp.findroot(mp.digamma, ZERO_OF_DIGAMMA_GUESS)
    rest = "x**2 (log(x) - 1 / (2 x) - digamma(x)), in 1 / x**2"
    second_rest = "x**3 (trigamma(x) - 1 / x - 1 / (2 x**2)), in 1 / x**2"
    return [
        Target("DIGAMMA", "digamma(x) / (x - x0)", lambda x: mp.digamma(x) / (x - zero), 1, 6, (8, 8), 1.0),
        Target("DIGAMMA_TAIL", rest, psi_rest, none, from_six, (8, 0)),
        Target("TRIGAMMA", "trigamma(x)", lambda x: mp.psi(1, x), 1, 6, (8, 8), 1.0),
        Target("TRIGAMMA_TAIL", second_rest, trigamma_rest, none, from_six, (9, 0)),
    ]


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
    """Return the remainder of Stirling's formula, times x."""
    x = 1 / mp.sqrt(v)
    return x * (mp.loggamma(x) - ((x - mp.mpf(1) / 2) * mp.log(x) - x + mp.log(2 * mp.pi) / 2))


def psi_rest(v: Any) -> Any:
    """Return the remainder of digamma after log(x) - 1 / (2 x), times -x**2."""
    x = 1 / mp.sqrt(v)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def trigamma_rest(v: Any) -> Any:
    """Return the remainder of trigamma after 1 / x + 1 / (2 x**2), times x**3."""
    x = 1 / mp.sqrt(v)
    return x**3 * (mp.psi(1, x) - 1 / x - 1 / (2 * x * x))


def integral_targets() -> list[Target]:
    """List what the exponential integrals are made of."""
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
    return made


def expi_without_zero(zero: Any, x: Any) -> Any:
    """Ei without its logarithm and its zero."""
    return (mp.ei(x) - mp.log(x / zero)) / (x - zero)


def scaled_expi(t: Any) -> Any:
    """x exp(-x) Ei(x), as a function of t = 1 / x."""
    return mp.exp(-1 / t) * mp.ei(1 / t) / t


if __name__ == "__main__":
    write(targets)
