"""Integrals of sines, cosines and their hyperbolic relatives, and Fresnel's, as in SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.fresnel, (np.array([-2.0, 0.3, 1.7]),), (0,)),
    (sp.sici, (np.array([0.2, 1.3, 9.0]),), (0,)),
    (sp.shichi, (np.array([0.2, 1.3, 5.0]),), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


def test_dawsons_integral_falls_as_half_the_reciprocal() -> None:
    x = np.array([1e10, 1e200, -1e300, np.inf])
    np.testing.assert_allclose(ps.trace(sp.dawsn, x)(x), sp.dawsn(x), rtol=1e-14)
