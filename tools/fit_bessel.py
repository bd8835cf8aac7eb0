"""Fit what the Bessel functions of orders 0 and 1 are made of: I and K, the modified ones, and J.

`python -m tools.fit_bessel` writes them into the file of fits; it needs mpmath.
"""

from functools import partial
from typing import Any

import mpmath as mp

from tools.rational_fits import Target, write


def targets() -> list[Target]:
    """List everything that is fitted."""
    return [*modified_targets(), *oscillating_targets()]


def modified_targets() -> list[Target]:
    """List what I0 and I1 are made of far out, and K0 and K1 near 0 and far out."""
    none = mp.mpf("1e-12")
    k0, k1 = "K0(x) + log(x / 2) I0(x), in x**2", "(K1(x) - 1 / x - log(x / 2) I1(x)) / x, in x**2"
    made = [
        Target("BESSEL_K0", k0, lambda v: second_kind(0, mp.sqrt(v)), none, 1, (8, 0)),
        Target("BESSEL_K1", k1, lambda v: second_kind(1, mp.sqrt(v)), none, 1, (8, 0)),
    ]
    for n in (0, 1):
        first, second = f"exp(-x) sqrt(x) I{n}(x), in 1 / x", f"exp(x) sqrt(x) K{n}(x), in 1 / x"
        low, high = mp.mpf("1e-5"), mp.mpf(1) / 8
        made += [
            Target(f"BESSEL_I{n}_TAIL", first, partial(scaled_first_kind, n), low, high, (24, 0), 1 / 16),
            Target(f"BESSEL_K{n}_TAIL", second, partial(scaled_second_kind, n), none, 1, (10, 10)),
        ]
    return made


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


def scaled_first_kind(order: int, t: Any) -> Any:
    """exp(-x) sqrt(x) I(x) of an order, as a function of t = 1 / x."""
    return mp.exp(-1 / t) * mp.besseli(order, 1 / t) / mp.sqrt(t)


def second_kind(order: int, x: Any) -> Any:
    """Return the remainder of K0 after the logarithm, or of K1 after the logarithm and the pole, over x."""
    rest = mp.besselk(order, x) + (-1) ** order * mp.log(x / 2) * mp.besseli(order, x)
    return (rest - 1 / x) / x if order else rest


def scaled_second_kind(order: int, t: Any) -> Any:
    """exp(x) sqrt(x) K(x) of an order, as a function of t = 1 / x."""
    return mp.exp(1 / t) * mp.besselk(order, 1 / t) / mp.sqrt(t)


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


if __name__ == "__main__":
    write(targets)
