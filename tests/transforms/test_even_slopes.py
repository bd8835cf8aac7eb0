"""A function that is smooth at 0 but written with a root, a norm or |x| has its derivatives there, computed by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance

import primsplit as ps
from tests.transforms.roots import FIRST

norm = np.linalg.norm
EYE = np.eye(2)
Function = Callable[[Any], Any]


def with_itself(r: Any) -> Any:
    return np.einsum("i,i->", r, r)


@pytest.mark.parametrize("name", FIRST)
def test_the_slope_at_zero_of_what_a_root_is_made_smooth_by(name: str) -> None:
    function, expected = FIRST[name]
    np.testing.assert_allclose(ps.grad(function)(0.0), expected, rtol=1e-15)


@pytest.mark.parametrize("name", [name for name in FIRST if "|" in name])
def test_the_tangent_at_zero_of_what_a_sign_makes_smooth(name: str) -> None:
    function, expected = FIRST[name]
    x = np.array([0.0, -0.0, 0.7, -1.3])
    slopes = ps.jvp(function, (x,), (np.ones(4),))[1]
    h = 1e-6
    right = [expected, expected, *((function(x[2:] + h) - function(x[2:] - h)) / (2 * h))]
    np.testing.assert_allclose(slopes, right, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(function(x)))(x), right, rtol=1e-8, atol=1e-9)


def test_a_sign_cancels_where_its_factors_are_broadcast() -> None:
    matrix = np.arange(6.0).reshape(2, 3)

    def function(x: Any) -> Any:
        return np.abs(x) * matrix * np.sign(x) + np.copysign(np.abs(x), x) * matrix

    x = np.array([0.0, 1.0, -2.0])
    np.testing.assert_allclose(ps.jvp(function, (x,), (np.ones(3),))[1], 2 * matrix)
    by_x = ps.grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_allclose(by_x[1:], 2 * matrix.sum(axis=0)[1:])


def test_the_second_derivative_of_an_even_function_of_a_root() -> None:
    """That of cos(sqrt(x)) = 1 - x / 2 + x**2 / 24 - ..."""
    np.testing.assert_allclose(ps.derivative(ps.derivative(lambda x: np.cos(np.sqrt(x))))(0.0), 1 / 12, rtol=1e-15)
    np.testing.assert_allclose(ps.derivative(ps.derivative(lambda x: np.abs(x) ** 2))(0.0), 2, rtol=1e-15)


def test_the_square_of_a_root_of_what_is_below_zero_stays_nan() -> None:
    assert np.isnan(ps.grad(lambda x: np.sqrt(x) ** 2)(-1.0))


SECOND: dict[str, tuple[Function, Any]] = {
    "norm**2": (lambda x: norm(x) ** 2, 2 * EYE),
    "norm**3": (lambda x: norm(x) ** 3, 0 * EYE),
    "norm**4": (lambda x: norm(x) ** 4, 0 * EYE),
    "norms written twice": (lambda x: norm(x) * norm(x), 2 * EYE),
    "(-norm / 2)**2": (lambda x: (-norm(x) / 2) ** 2, EYE / 2),
    "np.square of a Frobenius norm": (lambda x: np.square(norm(x[:, None])), 2 * EYE),
    "a Gaussian kernel": (lambda x: np.exp(-(norm(x) ** 2) / (2 * 0.5**2)), -4 * EYE),
    "a rational kernel": (lambda x: 1 / (1 + norm(x) ** 2), -2 * EYE),
    "sqrt(1 - norm**2)": (lambda x: np.sqrt(1 - norm(x) ** 2), -EYE),
    "log1p(norm**2)": (lambda x: np.log1p(norm(x) ** 2), 2 * EYE),
    "cos(3 norm)": (lambda x: np.cos(3 * norm(x)), -9 * EYE),
    "cosh(norm)": (lambda x: np.cosh(norm(x)), EYE),
    "hypot**2": (lambda x: np.hypot(x[0], x[1]) ** 2, 2 * EYE),
    "the square of the size of a complex number": (lambda x: np.abs(x[0] + 1j * x[1]) ** 2, 2 * EYE),
    "the square of a written root": (lambda x: np.sqrt(np.sum(x**2)) ** 2, 2 * EYE),
    "std**2": (lambda x: np.std(x) ** 2, [[0.5, -0.5], [-0.5, 0.5]]),
    "std**2 of a sample": (lambda x: np.std(x, ddof=1) ** 2, [[1, -1], [-1, 1]]),
    "a kernel by cdist": (
        lambda x: np.exp(-(scipy.spatial.distance.cdist(x[None], np.zeros((1, 2)))[0, 0] ** 2) / 2),
        -EYE,
    ),
    "mahalanobis**2": (lambda x: scipy.spatial.distance.mahalanobis(x, np.zeros(2), np.eye(2)) ** 2, 2 * EYE),
    "norms of rows times a matrix": (
        lambda x: np.sum((norm(x[None], axis=1)[:, None] * np.ones((1, 3))) ** 2),
        6 * EYE,
    ),
    "a norm taken several times": (lambda x: np.sum(np.take(norm(x[None], axis=1), [0, 0, 0]) ** 2), 6 * EYE),
    "a norm with itself in einsum": (lambda x: with_itself(norm(x[None], axis=1)), 2 * EYE),
    "a norm in a batch": (lambda x: np.sum(ps.vmap(norm)(x[None]) ** 2), 2 * EYE),
    "a norm in a scan": (lambda x: ps.scan(lambda c, r: (c + norm(r) ** 2, None), 0.0, x[None])[0], 2 * EYE),
    "a norm in a branch": (lambda x: norm(x) ** 2 if x[0] < 1 else x[0], 2 * EYE),
    "sum(|x|**2)": (lambda x: np.sum(np.abs(x) ** 2), 2 * EYE),
    "sum(|x|**3)": (lambda x: np.sum(np.abs(x) ** 3), 0 * EYE),
    "sum(|x|**4)": (lambda x: np.sum(np.abs(x) ** 4), 0 * EYE),
    "cos(|x|)": (lambda x: np.sum(np.cos(np.abs(x))), -EYE),
    "exp(-|x|**2)": (lambda x: np.sum(np.exp(-(np.abs(x) ** 2))), -2 * EYE),
    "Huber's loss": (lambda x: np.sum(np.where(np.abs(x) < 1, 0.5 * x**2, np.abs(x) - 0.5)), EYE),
}


@pytest.mark.parametrize("name", SECOND)
def test_the_second_derivatives_at_zero_of_what_is_smooth_there(name: str) -> None:
    function, expected = SECOND[name]
    x, v = np.zeros(2), np.array([1.0, 2.0])
    np.testing.assert_allclose(ps.hessian(function)(x), expected, atol=1e-14)
    np.testing.assert_allclose(ps.hvp(function, (x,), v), expected @ v, atol=1e-14)
    reverse = ps.grad(lambda x: np.sum(ps.grad(function)(x) * v))
    np.testing.assert_allclose(reverse(x), expected @ v, atol=1e-14)
    np.testing.assert_array_equal(ps.grad(function)(x), [0.0, 0.0])


def test_a_kernel_of_all_pairs_has_the_hessian_of_its_squared_distances() -> None:
    points = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.5]])

    def by_distances(x: Any) -> Any:
        return np.sum(np.exp(-(scipy.spatial.distance.cdist(x, x) ** 2)))

    def by_squares(x: Any) -> Any:
        return np.sum(np.exp(-np.sum((x[:, None] - x[None]) ** 2, axis=-1)))

    def by_pairs(x: Any) -> Any:
        return 2 * np.sum(np.exp(-(scipy.spatial.distance.pdist(x) ** 2)))

    expected = ps.hessian(by_squares)(points)
    assert expected[0, 0, 0, 0] == pytest.approx(-4 + 4 * np.exp(-1.25))
    np.testing.assert_allclose(ps.hessian(by_distances)(points), expected, atol=1e-13)
    np.testing.assert_allclose(ps.hessian(by_pairs)(points), expected, atol=1e-13)


def test_what_cancels_makes_a_gradient_shorter() -> None:
    joint = ps.split(lambda x: np.sum(norm(x, axis=1) ** 2), ps.spec("float64", ["N", 3])).joint()
    assert "Where" not in {op.kind for op in joint.block.ops}


def test_tied_extrema_have_the_second_derivative_of_the_mean_of_tied_values() -> None:
    x = np.ones(2)
    np.testing.assert_array_equal(ps.hessian(lambda x: 2 * x.max())(x), np.zeros((2, 2)))
    mean = np.full(2, 0.5)
    np.testing.assert_allclose(ps.hessian(lambda x: x.max() ** 2 + x.min() ** 2)(x), 4 * np.outer(mean, mean))


def _in_a_branch(x: Any) -> Any:
    return np.sum((np.abs(x) if x.sum() > -1 else x) ** 2)


def _in_a_scan(x: Any) -> Any:
    return np.sum(ps.scan(lambda c, _: (np.abs(c), None), x, np.arange(3.0))[0] ** 2)


def _in_a_loop(x: Any) -> Any:
    return np.sum(ps.while_loop(lambda s: s[1] < 3, lambda s: (np.abs(s[0]), s[1] + 1), (x, 0))[0] ** 2)


def _weighted_in_a_branch(x: Any) -> Any:
    return np.sum((np.array([2.0, 3.0]) * np.abs(x) if x.sum() > -1 else x) + x**2)


def _summed_in_a_scan(x: Any) -> Any:
    return ps.scan(lambda c, e: (c + np.abs(e) + e**2, None), 0.0, x)[0]


@pytest.mark.parametrize(
    ("function", "is_known"),
    [
        (_in_a_branch, False),
        (_in_a_scan, False),
        (_in_a_loop, False),
        (_weighted_in_a_branch, True),
        (_summed_in_a_scan, True),
    ],
)
@pytest.mark.parametrize("door", ["program", "values in a file", "gradient in a file"])
def test_second_derivatives_of_sizes_in_branches_and_loops(
    function: Any, is_known: bool, door: str, tmp_path: Path
) -> None:
    """The second derivative of each is 2 at 0; where it is not known it is NaN, never 0."""
    x, v = np.zeros(2), np.array([1.0, 2.0])
    gradient = ps.grad(function)
    if door == "values in a file":
        ps.trace(function, x).save(tmp_path / "f.onnx")
        loaded = ps.load(tmp_path / "f.onnx")
        gradient = ps.grad(lambda x: loaded(x))
    elif door == "gradient in a file":
        ps.export(function, x, path=tmp_path / "f.onnx")
        exported = ps.load(tmp_path / "f.onnx")
        gradient = lambda x: exported(x)[1]  # noqa: E731  # as the others
    for found in (ps.jacobian(lambda x: gradient(x))(x) @ v, ps.grad(lambda x: np.sum(gradient(x) * v))(x)):
        known = np.isclose(found, 2 * v)
        assert np.all(known | np.isnan(found)), found
        assert np.all(known) or not is_known or door == "gradient in a file", found


def by_tangents(function: Function) -> Function:
    return lambda x: ps.jvp(function, (x,), (1.0,))[1]


ORDERS: dict[str, Callable[[Function], Function]] = {
    "reverse over reverse": lambda f: ps.grad(ps.grad(f)),
    "forward over reverse": lambda f: by_tangents(ps.grad(f)),
    "reverse over forward": lambda f: ps.grad(by_tangents(f)),
    "forward over forward": lambda f: by_tangents(by_tangents(f)),
}
CURVATURES: dict[str, tuple[Function, float]] = {
    "a sum of sizes": (lambda x: 3.0 * np.abs(x) + np.abs(x), 0.0),
    "a size and a square": (lambda x: np.abs(x) + x * x, 2.0),
    "a cube of a size": (lambda x: np.abs(x) ** 3, 0.0),
    "an even function": (lambda x: np.cos(np.abs(x)), -1.0),
    "an even function times another": (lambda x: np.abs(x) ** 2 * np.exp(x), 2.0),
    "the larger of both signs": (lambda x: np.maximum(np.sin(x), -np.sin(x)) ** 2, 2.0),
    "the larger of two multiples": (lambda x: np.maximum(2 * x, -2 * x) ** 2, 8.0),
    "the larger of two parts": (lambda x: np.cos(np.maximum(x / 2, x / -2)), -0.25),
    "a size times another function": (lambda x: np.abs(x) * np.exp(x), np.nan),
    "a size times an even function": (lambda x: np.abs(x) * np.cos(x), np.nan),
    "a size over another function": (lambda x: np.abs(x) / (1 + x), np.nan),
    "a function of a size": (lambda x: np.exp(np.abs(x)), np.nan),
    "the size of what touches 0": (lambda x: np.abs(1 - np.cos(x)), np.nan),
}


def test_two_draws_are_not_one_root() -> None:
    """The slope of sqrt(u x) sqrt(v x) is sqrt(u v), for two draws u and v."""

    def function(x: Any) -> Any:
        u, v = ps.random.uniform(size=()), ps.random.uniform(size=())
        return np.sqrt(u * x) * np.sqrt(v * x), u * v

    (_, product), slope = ps.value_and_grad(function, has_aux=True)(0.0)
    assert slope == pytest.approx(np.sqrt(product)) or np.isnan(slope)


@pytest.mark.parametrize("name", CURVATURES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_curvature_of_a_size_at_zero_is_the_same_in_each_mode(name: str, order: str) -> None:
    function, expected = CURVATURES[name]
    np.testing.assert_allclose(ORDERS[order](function)(0.0), expected, rtol=1e-14, atol=1e-300)
