"""The fits of special functions against mpmath, and the zeros that stand beside them."""

import mpmath as mp
import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations.coefficients import FITS
from primsplit.numpy.approximations.gamma import DIGAMMA_ZERO
from primsplit.special.bessel import BESSEL_J_ZEROS
from primsplit.special.integrals import EXPI_ZERO


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("ERF", 0.09, mp.erf(0.3) / 0.3),
        ("TRIGAMMA", 2.5, mp.psi(1, 2.5)),
        ("BESSEL_I0_TAIL", 0.1, mp.exp(-10) * mp.sqrt(10) * mp.besseli(0, 10)),
        ("DILOGARITHM", -0.25, mp.polylog(2, -0.25) / -0.25),
    ],
)
def test_a_fit_has_the_digits_of_its_function(name: str, x: float, wanted: mp.mpf) -> None:
    points = np.array([x])
    np.testing.assert_allclose(ps.trace(lambda t: FITS[name](t), points)(points), [float(wanted)], rtol=1e-14)


def test_a_zero_in_two_parts_has_the_digits_of_two_numbers() -> None:
    mp.mp.dps = 40
    pairs = [(DIGAMMA_ZERO, mp.digamma), (EXPI_ZERO, mp.ei)]
    pairs += [(pair, lambda x, n=order: mp.besselj(n, x)) for order in (0, 1) for pair in BESSEL_J_ZEROS[order]]
    assert max(abs(of(mp.mpf(high) + mp.mpf(low))) for (high, low), of in pairs) < 1e-31
    mp.mp.dps = 15
