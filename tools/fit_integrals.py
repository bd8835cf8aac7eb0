"""Derive the fits of integrals that oscillate or grow: Dawson's, Fresnel's, sine and cosine integrals, dilogarithm.

`python -m tools.fit_integrals` writes them into the file of fits; it needs mpmath.
"""

from typing import Any

import mpmath as mp

from tools.rational_fits import Target, write

FRESNEL_FROM = 1.6
"""The least argument for the auxiliary functions of Fresnel's integrals."""


def targets() -> list[Target]:
    """List everything that is fitted."""
    none = mp.mpf("1e-12")
    far = mp.mpf(FRESNEL_FROM) ** -4
    return [
        Target("DAWSON", "D(x) / x, in x**2", lambda v: dawson(mp.sqrt(v)) / mp.sqrt(v), none, 4, (9, 9)),
        Target("DAWSON_MIDDLE", "x D(x), in 1 / x**2", dawson_far, mp.mpf("0.04"), mp.mpf("0.25"), (12, 12), 0.04),
        Target("DAWSON_FAR", "x D(x), in 1 / x**2", dawson_far, none, mp.mpf("0.04"), (20, 0), 0.02),
        Target("FRESNEL_S", "S(x) / x**3, in x**4", fresnel_s, none, mp.mpf(FRESNEL_FROM) ** 4, (12, 0)),
        Target("FRESNEL_C", "C(x) / x, in x**4", fresnel_c, none, mp.mpf(FRESNEL_FROM) ** 4, (12, 0)),
        Target("FRESNEL_F", "pi x f(x), in 1 / x**4", lambda v: fresnel_far(v)[0], none, far, (11, 11)),
        Target("FRESNEL_G", "pi**2 x**3 g(x), in 1 / x**4", lambda v: fresnel_far(v)[1], none, far, (12, 12)),
        Target("SINE", "Si(x) / x, in x**2", lambda v: mp.si(mp.sqrt(v)) / mp.sqrt(v), none, 16, (12, 0)),
        Target("COSINE", "(Ci(x) - log(x) - euler) / x**2, in x**2", entire_cosine, none, 16, (12, 0)),
        Target("SINE_FAR", "x f(x), in 1 / x**2", lambda v: wave_far(v)[0], none, mp.mpf(1) / 16, (11, 11)),
        Target("COSINE_FAR", "x**2 g(x), in 1 / x**2", lambda v: wave_far(v)[1], none, mp.mpf(1) / 16, (12, 12)),
        Target("DILOGARITHM", "Li2(t) / t", lambda t: mp.polylog(2, t) / t, -0.5, 0.5, (8, 8)),
    ]


def dawson(x: Any) -> Any:
    """Dawson's integral."""
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def dawson_far(v: Any) -> Any:
    """x D(x), as a function of 1 / x**2; by its asymptotic series where erfi overflows all digits."""
    x = 1 / mp.sqrt(v)
    if x < 40:
        return x * dawson(x)
    return mp.fsum(mp.fac2(2 * k - 1) * (v / 2) ** k for k in range(26)) / 2


def fresnel_s(v: Any) -> Any:
    """S(x) / x**3, as a function of x**4."""
    x = mp.root(v, 4)
    return mp.fresnels(x) / x**3


def fresnel_c(v: Any) -> Any:
    """C(x) / x, as a function of x**4."""
    x = mp.root(v, 4)
    return mp.fresnelc(x) / x


def fresnel_far(v: Any) -> tuple[Any, Any]:
    """The auxiliary functions f and g of Fresnel's integrals without their leading powers (DLMF 7.5.3 and 7.5.4)."""
    x = mp.root(1 / v, 4)
    angle = mp.pi * x * x / 2
    s, c = mp.mpf(1) / 2 - mp.fresnels(x), mp.mpf(1) / 2 - mp.fresnelc(x)
    f, g = s * mp.cos(angle) - c * mp.sin(angle), c * mp.cos(angle) + s * mp.sin(angle)
    return mp.pi * x * f, (mp.pi * x) ** 2 * x * g


def entire_cosine(v: Any) -> Any:
    """Return the remainder of Ci after the logarithm, over x**2, as a function of x**2."""
    return (mp.ci(mp.sqrt(v)) - mp.log(v) / 2 - mp.euler) / v


def wave_far(v: Any) -> tuple[Any, Any]:
    """The auxiliary functions of the sine and cosine integrals without their leading powers (DLMF 6.5.5 to 6.5.8)."""
    x = 1 / mp.sqrt(v)
    both = mp.e1(mp.mpc(0, x)) * mp.expj(x)
    return -x * both.imag, x * x * both.real


if __name__ == "__main__":
    write(targets)
