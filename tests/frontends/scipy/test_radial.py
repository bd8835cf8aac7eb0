"""scipy.interpolate.RBFInterpolator: SciPy's values, and gradients in points, values, smoothing and scale."""

from typing import Any

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

import primsplit as ps
from primsplit.frontends.scipy.radial import KERNELS
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
SITES, AT = RANDOM.standard_normal((9, 2)), RANDOM.standard_normal((4, 2))
VALUES, SEVERAL = RANDOM.standard_normal(9), RANDOM.standard_normal((9, 2, 2))
SMOOTHING = np.linspace(0.1, 0.5, 9)


@pytest.mark.sweep(14)
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_interpolant_of_traced_points_and_values_is_scipys_with_gradients(kernel: str) -> None:
    def f(sites: Any, values: Any, x: Any) -> Any:
        return RBFInterpolator(sites, values, kernel=kernel, epsilon=0.8)(x)

    program = ps.trace(f, *(ps.spec("float64", s) for s in (["P", 2], ["P", 2, 2], ["Q", 2])))
    for count, asked in ((9, 4), (7, 1), (6, 0)):
        given = SITES[:count], SEVERAL[:count], AT[:asked]
        np.testing.assert_allclose(program(*given), f(*given), rtol=1e-8)
    check_grads(f, SITES, VALUES, AT, value_tolerance=1e-8, step=1e-3, symbolic=False)


def test_a_known_interpolant_takes_traced_points() -> None:
    for kernel in ("thin_plate_spline", "gaussian"):
        made = RBFInterpolator(SITES, SEVERAL, kernel=kernel, epsilon=1.3, smoothing=SMOOTHING, degree=2)
        check_grads(lambda x, made=made: made(x), AT, value_tolerance=1e-10, step=1e-3, symbolic=False)


def test_smoothing_and_scale_may_be_traced() -> None:
    def f(values: Any, smoothing: Any) -> Any:
        return RBFInterpolator(SITES, values, smoothing=smoothing, kernel="gaussian", epsilon=0.7, degree=-1)(AT)

    check_grads(f, VALUES, SMOOTHING, value_tolerance=1e-10, step=1e-3, symbolic=False)

    def of_scale(scale: Any) -> Any:
        given = scale if isinstance(scale, ps.Array) else float(scale)
        return RBFInterpolator(SITES, VALUES, kernel="multiquadric", epsilon=given)(AT)

    check_grads(of_scale, np.float64(0.6), value_tolerance=1e-8, step=1e-3, symbolic=False)


def test_at_its_own_sites_the_gradient_is_right_and_what_is_infinite_is_no_number() -> None:
    def f(x: Any) -> Any:
        return np.sum(RBFInterpolator(SITES, VALUES)(x) * VALUES)

    ahead, behind = (f(SITES + h * AT[0]) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(np.sum(ps.grad(f)(SITES) * AT[0]), (ahead - behind) / 2e-6, rtol=1e-7)
    assert np.isnan(ps.hessian(lambda x: f(x[None]))(SITES[0])).any()


def test_what_has_no_form_is_told_at_the_users_line() -> None:
    near = RBFInterpolator(SITES, VALUES, neighbors=4)
    for function, error, told in (
        (lambda d: RBFInterpolator(SITES, d, neighbors=4)(AT), UnsupportedFunction, "which points are near"),
        (lambda d: near(d[:4].reshape(2, 2)), UnsupportedFunction, "with neighbors"),
        (lambda d: RBFInterpolator(SITES, d[:4])(AT), ShapeError, r"points \[9,2\] and values \[4\]"),
        (lambda d: RBFInterpolator(SITES[:2], d[:2])(AT), ShapeError, "3 at least"),
        (lambda d: RBFInterpolator(SITES, d)(AT[0]), ShapeError, r"points \[Q, 2\]"),
    ):
        with pytest.raises(error, match=told) as caught:
            ps.trace(function, VALUES)
        assert "test_radial.py" in str(caught.value)
    for options in ({"kernel": "none"}, {"kernel": "gaussian"}, {"degree": -2}):
        with pytest.raises(ValueError, match="`"):
            ps.trace(lambda d, o=options: RBFInterpolator(SITES, d, **o)(AT), VALUES)
