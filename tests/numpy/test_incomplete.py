"""Incomplete gamma and beta functions: SciPy's values over wide ranges, densities as gradients, refusals."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.errors import MissingRule
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


@pytest.mark.parametrize("function", [sp.betainc, sp.betaincc], ids=lambda f: f.__name__)
def test_an_incomplete_beta_function_gives_what_scipy_gives(function: Any) -> None:
    shapes = np.array([0.03, 0.1, 0.5, 1, 1.5, 5, 30, 200, 1e4])
    places = np.array([0, 1e-10, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1])
    a, b, x = (v.ravel() for v in np.meshgrid(shapes, shapes, places))
    a = np.concatenate([a, [0, 1, -1, 1, 1, np.nan]])
    b = np.concatenate([b, [1, 0, 1, 1, 1, 1]])
    x = np.concatenate([x, [0.5, 0.5, 0.5, -0.1, 1.1, 0.5]])
    close(ps.trace(function, a, b, x)(a, b, x), function(a, b, x), 2e-12)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shapes_and_dtypes_are_scipys(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.4, np.float32)
    for function, given in ((sp.gammainc, (np.float32(2), x)), (sp.betainc, (np.float32(2), np.float32(3), x))):
        found, wanted = ps.trace(function, *given)(*given), function(*given)
        assert np.asarray(found).dtype == wanted.dtype
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("a", [0.3, 1.0, 40.0])
def test_first_and_second_derivatives_agree_with_central_differences(a: float) -> None:
    check_grads(lambda x: sp.gammainc(a, x) + 2 * sp.gammaincc(a, x), between(0.3, 2.5, (5,)) * a)
    check_grads(lambda x: sp.betainc(a, 3.5, x) + 2 * sp.betaincc(1.0, a, x), between(0.1, 0.9, (5,)))


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


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda a: sp.gammainc(a, 1.0), "a"),
        (lambda a: sp.gammaincc(a, 1.0), "a"),
        (lambda a: sp.betainc(a, 1.0, 0.5), "a"),
        (lambda b: sp.betaincc(1.0, b, 0.5), "b"),
    ],
)
def test_a_gradient_in_a_shape_is_refused_by_name(function: Any, argument: str) -> None:
    with pytest.raises(MissingRule, match=f"no derivative in its argument {argument}") as refused:
        ps.grad(lambda x: np.sum(function(x)))(np.ones(2))
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__
