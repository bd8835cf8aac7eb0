"""Sums of exponentials of complex numbers: SciPy's values, and derivatives; what stays out is named."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.numpy.agreement import check_grads
from tests.special.plane import PLANE


def of_sums(z: Any) -> Any:
    return sp.logsumexp(z, axis=1), sp.logsumexp(z, b=z.real, keepdims=True), sp.softmax(z, axis=0), sp.log_softmax(z)


def test_softmax_and_logsumexp_are_scipys() -> None:
    z = PLANE[900:906].reshape(2, 3)

    def f(x: Any, y: Any) -> Any:
        return tuple(p for found in of_sums(x + 1j * y) for p in (found.real, found.imag))

    check_grads(f, z.real, z.imag, symbolic=False)
    for found, wanted in zip(ps.trace(of_sums, z + 800)(z + 800), of_sums(z + 800), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("told", "function"),
    [
        ("scipy.special.exp1", lambda z: sp.exp1(z)),
        ("scipy.special.hankel1 .*", lambda z: sp.hankel1(0, z)),
        ("lambertw", lambda z: sp.lambertw(z, [0, 1, 2])),
        ("return_sign", lambda z: sp.logsumexp(z, return_sign=True)),
    ],
)
def test_what_stays_out_is_named(told: str, function: Any) -> None:
    with pytest.raises(UnsupportedFunction, match=told):
        ps.trace(function, PLANE[:3])
