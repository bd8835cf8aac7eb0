"""scipy.signal's recursive filters of traced edges: SciPy's coefficients, and gradients in the edges."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

EDGES = np.array([0.22, 0.53])
SIGNAL = np.random.default_rng(0).standard_normal(12)


def parts(found: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(p for z in found for p in ((z.real, z.imag) if np.iscomplexobj(z) else (z,)))


DESIGNS: dict[str, Callable[[Any], Any]] = {
    "low": lambda w: scipys.butter(3, w[0]),
    "high": lambda w: scipys.butter(2, w[1] * 100, "highpass", fs=200.0),
    "a band": lambda w: scipys.butter(3, w, "bandpass"),
    "all but a band": lambda w: scipys.butter(2, w, btype="bandstop"),
    "of an analog filter": lambda w: scipys.butter(3, 9 * w, "band", analog=True),
    "zeros and poles": lambda w: parts(scipys.butter(4, w[0], output="zpk")),
    "zeros and poles of a band": lambda w: parts(scipys.butter(2, w, "band", output="zpk")),
    "cheby1": lambda w: scipys.cheby1(3, 1.0, w, "band"),
    "cheby2": lambda w: scipys.cheby2(4, 20.0, w[0]),
    "cheby2 without a band": lambda w: scipys.cheby2(3, 20.0, w, "stop"),
    "ellip": lambda w: scipys.ellip(3, 1.0, 20.0, w[1], "high"),
    "bessel": lambda w: scipys.bessel(3, w[1], norm="mag"),
    "sections": lambda w: scipys.butter(4, w[0], output="sos"),
    **{
        f"a signal through sections, {kind}": lambda w, k=kind: scipys.sosfilt(
            scipys.cheby1(3, 1.0, w if "band" in k else w[0], k, output="sos"), SIGNAL
        )
        for kind in ("lowpass", "highpass", "bandpass", "bandstop")
    },
}


@pytest.mark.sweep(18)
@pytest.mark.parametrize("name", DESIGNS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_grads(lambda w: DESIGNS[name](w), EDGES, symbolic=False, value_tolerance=1e-9)


def test_an_edge_is_found_by_its_derivatives() -> None:
    wanted = scipys.lfilter(*scipys.butter(2, 0.3), SIGNAL)

    def miss(w: Any) -> Any:
        return np.sum((scipys.lfilter(*scipys.butter(2, w), SIGNAL) - wanted) ** 2)

    slope, curve, w = ps.grad(miss), ps.hessian(miss), 0.32
    for _ in range(8):
        w = w - float(slope(w)) / float(curve(w))
    assert w == pytest.approx(0.3, abs=1e-9)


def test_what_has_no_form_is_told() -> None:
    with pytest.raises(UnsupportedFunction, match="in sections of traced values"):
        ps.trace(lambda w: scipys.ellip(3, 1.0, 20.0, w[0], output="sos"), EDGES)
    with pytest.raises(UnsupportedFunction, match="traced values but its edges"):
        ps.trace(lambda w: scipys.cheby1(3, w[1], w[0]), EDGES)
