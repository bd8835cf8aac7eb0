"""scipy.interpolate's smoothing spline at many known sites: SciPy's derivatives, and files that grow with the sites."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import primsplit as ps
from primsplit.ir.errors import PrimsplitError
from tests.numpy.matrices import normal

N = 60
SITES = np.cumsum(np.random.default_rng(5).uniform(0.2, 2.0, N))
PLACES = np.random.default_rng(6).uniform(SITES[0] - 0.5, SITES[-1] + 0.5, 40)


def smoothing(lam: float, w: Any = None) -> Callable[..., Any]:
    return lambda x, y, axis=0: scipy.interpolate.make_smoothing_spline(x, y, lam=lam, w=w, axis=axis)


MAKERS: dict[str, Callable[..., Any]] = {
    "smoothing little": smoothing(1e-3),
    "smoothing": smoothing(1.0),
    "smoothing much": smoothing(1e4),
    "smoothing with weights": smoothing(0.5, np.linspace(0.5, 2.0, N)),
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", MAKERS)
def test_values_slopes_and_gradients_are_scipys(name: str, axis: int) -> None:
    make = MAKERS[name]
    y = normal(N, 2)
    y = y if axis == 0 else y.T

    def function(y: Any) -> Any:
        made = make(SITES, y, axis)
        return made(PLACES), made(PLACES, 1)

    for found, wanted in zip(ps.trace(function, y)(y), function(y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8 * np.max(np.abs(wanted)))
    seeds = normal(*function(y)[0].shape, seed=1)
    gradient = ps.grad(lambda y: np.sum(make(SITES, y, axis)(PLACES) * seeds))(y)
    along = normal(*y.shape, seed=2)
    slope = np.sum(make(SITES, along, axis)(PLACES) * seeds)  # a spline is linear in its values
    np.testing.assert_allclose(np.sum(gradient * along), slope, rtol=1e-8)


def test_a_file_grows_with_the_sites_alone() -> None:
    """At most 64 numbers a site."""
    n = 1000
    x, y = np.arange(float(n)), normal(n)
    program = ps.trace(lambda y: MAKERS["smoothing"](x, y)(x + 0.5), y)
    np.testing.assert_allclose(program(y), MAKERS["smoothing"](x, y)(x + 0.5), rtol=1e-8, atol=1e-9)
    assert len(program.to_onnx().SerializeToString()) <= 64 * 8 * n


def test_sites_that_scipy_refuses_are_refused_while_tracing() -> None:
    with pytest.raises(PrimsplitError, match="ascending"):
        ps.trace(lambda y: scipy.interpolate.make_smoothing_spline(SITES[::-1], y, lam=1.0)(1.0), normal(N))
