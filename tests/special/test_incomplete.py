"""Incomplete gamma and beta functions: SciPy's values over wide ranges, and derivatives in shapes and places."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.numpy.agreement import check_grads
from tests.pointwise import between

SHAPES = np.array([1e-10, 1e-3, 0.1, 0.5, 1.0, 1.5, 5.0, 9.9, 10.0, 30.0, 100.0, 1e3])
RATIOS = np.array([1e-8, 1e-3, 0.1, 0.5, 0.9, 1.0, 1.01, 1.5, 2.0, 20.0])
ENDS = np.array(
    [[0, 0], [0, 1], [1, 0], [2, np.inf], [-1, 1], [1, -1], [np.inf, 1], [1, np.nan], [np.nan, 1], [np.inf, np.inf]]
)


def close(found: Any, wanted: Any, rtol: float) -> None:
    """Equal where the number is not so small that SciPy loses digits."""
    np.testing.assert_allclose(
        np.where(np.abs(wanted) < 1e-280, 0, found), np.where(np.abs(wanted) < 1e-280, 0, wanted), rtol
    )


@pytest.mark.parametrize("function", [sp.gammainc, sp.gammaincc], ids=lambda f: f.__name__)
def test_an_incomplete_gamma_function_gives_what_scipy_gives(function: Any) -> None:
    a, x = np.broadcast_arrays(SHAPES[:, None], RATIOS * np.maximum(SHAPES, 1e-3)[:, None])
    a, x = np.concatenate([a.ravel(), ENDS[:, 0]]), np.concatenate([x.ravel(), ENDS[:, 1]])
    close(ps.trace(function, a, x)(a, x), function(a, x), 1e-12)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("function", [sp.betainc, sp.betaincc], ids=lambda f: f.__name__)
def test_an_incomplete_beta_function_gives_what_scipy_gives(function: Any) -> None:
    shapes = np.array([0.03, 0.1, 0.5, 1, 1.5, 5, 30, 200, 1e4])
    places = np.array([0, 1e-10, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1])
    a, b, x = (v.ravel() for v in np.meshgrid(shapes, shapes, places))
    a = np.concatenate([a, [0, 1, -1, 1, 1, np.nan]])
    b = np.concatenate([b, [1, 0, 1, 1, 1, 1]])
    x = np.concatenate([x, [0.5, 0.5, 0.5, -0.1, 1.1, 0.5]])
    close(ps.trace(function, a, b, x)(a, b, x), function(a, b, x), 2e-12)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shapes_and_dtypes_are_scipys(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.4, np.float32)
    for function, given in ((sp.gammainc, (np.float32(2), x)), (sp.betainc, (np.float32(2), np.float32(3), x))):
        found, wanted = ps.trace(function, *given)(*given), function(*given)
        assert np.asarray(found).dtype == wanted.dtype
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_first_and_second_derivatives_agree_with_central_differences() -> None:
    a = np.repeat([0.3, 1.0, 40.0], 3)
    check_grads(lambda x: sp.gammainc(a, x) + 2 * sp.gammaincc(a, x), between(0.3, 2.5, (9,)) * a, symbolic=False)
    check_grads(lambda x: sp.betainc(a, 3.5, x) + 2 * sp.betaincc(1.0, a, x), between(0.1, 0.9, (9,)), symbolic=False)


@pytest.mark.slow
def test_first_derivatives_of_arrays_of_any_size_agree_with_central_differences() -> None:
    check_grads(lambda x: sp.gammainc(0.3, x) + 2 * sp.gammaincc(0.3, x), between(0.1, 0.75, (5,)), order=1)
    check_grads(lambda x: sp.betainc(0.3, 3.5, x), between(0.1, 0.9, (5,)), order=1)


def test_the_gradient_at_the_ends_is_the_density_there() -> None:
    zero = np.zeros(3)
    shapes = np.array([0.5, 1.0, 2.0])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(sp.gammainc(shapes, x)))(zero), [np.inf, 1, 0])
    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(sp.betainc(shapes, 1.0, x)))(zero), [np.inf, 1, 0])


def test_a_batch_by_vmap_and_forward_mode_are_right() -> None:
    x = between(0.5, 3, (5,))
    np.testing.assert_allclose(ps.vmap(lambda v: sp.gammainc(2.0, v))(x), sp.gammainc(2.0, x), rtol=1e-14)
    _, tangent = ps.jvp(lambda v: sp.gammainc(2.0, v), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(tangent, x * np.exp(-x), rtol=1e-13)


GAMMA_SLOPES = [
    (0.001, 1e-05, -10.8183982990863394, 116.700107114710541),
    (0.1, 2.0, -0.0647649357284373648, -0.164106756976374912),
    (0.5, 0.3, -0.770570351375351917, 0.626147655839912648),
    (5.0, 5.0, -0.181419109267297061, 0.000618196477024231081),
    (30.0, 12.0, -8.4424793436036674e-6, 7.75778741202485989e-6),
    (100.0, 160.0, -7.07206555709082721e-8, -3.32660167057228257e-8),
    (1000.0, 1000.0, -0.012616713994069625, 1.05156779032539303e-9),
    (30000.0, 29000.0, -9.25696790245221258e-11, 3.13826448287059304e-12),
]
"""The shape, the place, and mpmath's first and second derivative of gammainc in the shape."""


def test_derivatives_of_gamma_functions_in_the_shape_are_mpmaths_far_out_too() -> None:
    a, x, slope, curve = np.array(GAMMA_SLOPES).T

    def slopes(a: Any) -> Any:
        return ps.grad(lambda a: np.sum(sp.gammainc(a, x)))(a)

    np.testing.assert_allclose(slopes(a), slope, rtol=1e-12)
    np.testing.assert_allclose(ps.grad(lambda a: np.sum(sp.gammaincc(a, x)))(a), -slope, rtol=1e-12)
    found = ps.grad(lambda a: np.sum(slopes(a)))(a)
    np.testing.assert_allclose(found, curve, rtol=1e-11, atol=1e-16)


BETA_SLOPES = [
    (0.001, 0.1, 0.3, -10.5213376914025259, 0.0989967807768630135, 207.990518789263281, 96.973669988965851,
     -1.94132186314911283),
    (0.5, 1.5, 1e-06, -0.0170986065497937738, 0.000491844750098646761, 0.229251816689838845, -0.0057839347387420803,
     -0.000179074819507600433),
    (3.0, 0.001, 0.9999, -0.000391724806228810213, 7.65255066029565993, 0.000152716348101585497, -0.388627580583783729,
     -57.7770819475806186),
    (5.0, 30.0, 0.15, -0.164251211082838362, 0.0273960264909617595, -0.00275484129932897877, 0.00337756298321359746,
     -0.0010242962670618095),
    (200.0, 200.0, 0.52, -0.0142136654850385425, 0.0147937257880951924, -0.000521977750115075841,
     0.000580346642021796461, -0.000641096331605336663),
    (3000.0, 1.0, 0.999, -0.0000497372667782712727, 0.0963329167433377768, 4.97621520031936511e-8,
     -0.0000833511038439899077, 0.107246703469588901),
    (0.5, 3000.0, 0.0002, -0.587268603423652056, 0.0000799536343677453412, 0.0205316390404043085,
     0.000116134072388450872, -2.93190420953892358e-8),
]  # fmt: skip
"""Both shapes, the place, and mpmath's derivatives of betainc in a, b, a twice, both, b twice."""


@pytest.mark.slow
def test_derivatives_of_beta_functions_in_the_shapes_are_mpmaths_far_out_too() -> None:
    a, b, x, *wanted = np.array(BETA_SLOPES).T

    def slopes(a: Any, b: Any) -> Any:
        return ps.grad(lambda a, b: np.sum(sp.betainc(a, b, x)), wrt=(0, 1))(a, b)

    in_a, in_b = slopes(a, b)
    curves = ps.grad(lambda a, b: np.sum(slopes(a, b)[0]), wrt=(0, 1))(a, b)
    last = ps.grad(lambda b: np.sum(slopes(a, b)[1]))(b)
    for found, exact in zip((in_a, in_b, *curves, last), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-10)


TINY_SLOPES = [
    (1e-10, 2e-10, 0.5, -2222222222.22222, 1111111111.11111),
    (3e-14, 1e-14, 0.97, -6249999999999.78, 18750000000002.0),
    (1e-16, 3e-16, 0.001, -1.875e15, 6.25e14),
    (1e-13, 1.5, 0.3, -0.746550189603728, 6.35284624693706e-14),
]
"""Both shapes, the place, and mpmath's derivatives of betainc in a and b."""


def test_derivatives_in_tiny_shapes_are_mpmaths() -> None:
    a, b, x, *wanted = np.array(TINY_SLOPES).T
    found = ps.grad(lambda a, b: np.sum(sp.betainc(a, b, x)), wrt=(0, 1))(a, b)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (sp.gammaincc, (np.array([0.3, 2.0, 20.0]), np.array([0.5, 1.7, 24.0]))),
        (sp.betaincc, (np.array([0.4, 2.0, 9.0]), np.array([0.7, 1.7, 5.0]), np.array([0.3, 0.6, 0.2]))),
    ],
    ids=["gamma", "beta"],
)
def test_derivatives_in_all_arguments_agree_with_central_differences(function: Any, args: Any) -> None:
    check_grads(function, *args, symbolic=False)


def test_derivatives_in_a_shape_at_the_ends_are_those_of_the_limit() -> None:
    a, x = np.array([0.0, 0.0, 1.0, 2.0, 2.0]), np.array([1.0, 3.0, 0.0, np.inf, np.nan])
    wanted = [-sp.exp1(1.0), -sp.exp1(3.0), 0.0, 0.0, np.nan]
    np.testing.assert_allclose(ps.grad(lambda a: np.sum(sp.gammainc(a, x)))(a), wanted, rtol=1e-13)
    a, x = np.array([2.0, 2.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.5, 0.5])
    wanted = [0.0, 0.0, np.log(0.5), np.nan]
    np.testing.assert_allclose(ps.grad(lambda a: np.sum(sp.betainc(a, 1.0, x)))(a), wanted, rtol=1e-12)


@pytest.mark.slow
def test_a_shape_in_float32_has_the_gradient_of_float64() -> None:
    a, x = np.array([0.5, 3.0, 40.0], np.float32), np.array([0.1, 2.0, 44.0], np.float32)
    for function in (sp.gammainc, lambda a, x: sp.betainc(a, 2 * a, 0.01 * x)):
        found = ps.grad(lambda a, f=function: np.sum(f(a, x)))(a)
        wide = ps.grad(lambda a, f=function: np.sum(f(a, x.astype(np.float64))))(a.astype(np.float64))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wide, rtol=2e-6)


def test_a_quantile_of_a_draw_moves_with_the_shape_as_the_distribution_does() -> None:
    """The implicit reparametrization gradient -P_a / p, here of the exponential distribution's quantiles at shape 1."""
    chance = np.array([0.1, 0.5, 0.99])
    quantile = -np.log1p(-chance)
    step = 1e-5
    wanted = (sp.gammaincinv(1 + step, chance) - sp.gammaincinv(1 - step, chance)) / (2 * step)
    found = ps.jacobian(lambda a: sp.gammaincinv(a, chance))(1.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
    found = ps.jacobian(lambda a: sp.gammainc(a, quantile))(1.0) / -np.exp(-quantile)
    np.testing.assert_allclose(found, wanted, rtol=1e-8)
