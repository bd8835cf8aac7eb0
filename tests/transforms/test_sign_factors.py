"""The slope at 0 of a sign times a root of the same value is NaN where it is not known, never the 0 of a convention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Function = Callable[[Any], Any]
PLACES = np.array([0.0, -0.0, 0.5, -2.0, 1.5, 3.0])
HERE = np.array([True, True, False, False, False, False])
SMOOTH: dict[str, Function] = {
    "sign(x) sqrt(x**2)": lambda x: np.sign(x) * np.sqrt(x * x),
    "sign(x) (x**2)**0.5": lambda x: np.sign(x) * (x * x) ** 0.5,
    "sign(x) hypot(x, x)": lambda x: np.sign(x) * np.hypot(x, x),
    "sign(x) |sin(x)|": lambda x: np.sign(x) * np.abs(np.sin(x)),
    "sign(sin(x)) hypot(x, 2 x) exp(x)": lambda x: 3 * np.sign(np.sin(x / 2)) * np.hypot(x, 2 * x) * np.exp(x),
    "copysign(sqrt(x**2), x)": lambda x: np.copysign(np.sqrt(x * x), x),
    "copysign(hypot(x, x), x)": lambda x: np.copysign(np.hypot(x, x), x),
    "norms of rows": lambda x: np.sign(x) * np.linalg.norm(x[:, None] * np.ones(3), axis=1),
    "deviations of rows": lambda x: np.sign(x) * np.std(x[:, None] * np.array([1.0, -1.0]), axis=1),
    "a sign that is broadcast": lambda x: (np.sign(x)[:, None] * (np.sqrt(x * x)[:, None] * np.arange(3.0))).sum(
        axis=1
    ),
    "a root, or its negative": lambda x: np.where(x > 0, np.hypot(x, x), -np.hypot(x, x)),
    "a negative root, or the root": lambda x: np.where(x <= 0, -np.sqrt(x * x), np.sqrt(x * x)),
    "two numbers by a comparison": lambda x: np.where(x >= 0, 3.0, -3.0) * np.hypot(x, 2 * x),
    "a sum beside it": lambda x: np.sign(x) * np.hypot(x, x) + x**2,
}
KEPT: dict[str, tuple[Function, float]] = {
    "soft thresholds": (lambda x: np.sign(x) * np.maximum(np.abs(x) - 1, 0), 0.0),
    "soft thresholds of a root": (lambda x: np.sign(x) * np.maximum(np.sqrt(x * x) - 1, 0), 0.0),
    "soft thresholds by a choice": (lambda x: np.sign(x) * np.where(np.abs(x) > 1, np.abs(x) - 1, 0), 0.0),
    "a signed square": (lambda x: np.sign(x) * x**2, 0.0),
    "a product of two sizes": (lambda x: np.sign(x) * x * np.abs(x), 0.0),
    "the size of a product with the sign": (lambda x: np.abs(x * np.sign(x)), 0.0),
    "the length of a product with the sign": (lambda x: np.hypot(x * np.sign(x), x), 0.0),
    "the sign of another value": (lambda x: np.sign(x + 1) * np.hypot(x, x), 0.0),
    "signed sizes by a choice": (lambda x: np.where(x > 0, np.abs(x), -np.abs(x)), 1.0),
    "negative sizes by a choice": (lambda x: np.where(x >= 0, -np.abs(x), np.abs(x)), -1.0),
    "an argument or its negative": (lambda x: np.where(x > 0, x, -x), -1.0),
    "squares of a sign": (lambda x: 2 * x * np.sign(x) ** 2, 2.0),
    "squares of a sign and of its argument": (lambda x: x**2 * np.sign(x) ** 2, 0.0),
    "signed logarithms": (lambda x: np.sign(x) * np.log1p(np.abs(x)), 1.0),
}


def by_tangents(function: Function, x: Any) -> Any:
    return ps.jvp(function, (x,), (np.ones(np.shape(x)),))[1]


def by_cotangents(function: Function, x: Any) -> Any:
    return ps.grad(lambda x: np.sum(function(x)))(x)


@pytest.mark.parametrize("mode", [by_tangents, by_cotangents])
@pytest.mark.parametrize("name", SMOOTH)
def test_the_slope_at_zero_of_a_root_with_a_sign_is_unknown(name: str, mode: Any) -> None:
    slopes = mode(SMOOTH[name], PLACES)
    assert np.all(np.isnan(slopes[HERE]))
    h = 1e-6
    x = PLACES[~HERE]
    np.testing.assert_allclose(slopes[~HERE], (SMOOTH[name](x + h) - SMOOTH[name](x - h)) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize("mode", [by_tangents, by_cotangents])
@pytest.mark.parametrize("name", KEPT)
def test_a_sign_that_does_not_hide_a_slope_keeps_it(name: str, mode: Any) -> None:
    function, expected = KEPT[name]
    slopes = mode(function, PLACES)
    np.testing.assert_allclose(slopes[HERE], expected, atol=0)
    h = 1e-6
    x = PLACES[~HERE]
    np.testing.assert_allclose(slopes[~HERE], (function(x + h) - function(x - h)) / (2 * h), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["sign(x) sqrt(x**2)", "copysign(hypot(x, x), x)"])
def test_higher_slopes_are_unknown_too(name: str) -> None:
    function = SMOOTH[name]
    for inner in (by_tangents, by_cotangents):
        for outer in (by_tangents, by_cotangents):
            second = outer(lambda x, inner=inner: inner(function, x), PLACES)
            assert np.all(np.isnan(second[HERE]))
            np.testing.assert_allclose(second[~HERE], 0, atol=1e-14)


def _in_a_checkpoint(x: Any) -> Any:
    return ps.checkpoint(lambda x: np.sign(x) * np.hypot(x, x))(x)


def _in_a_branch(x: Any) -> Any:
    return np.sign(x) * np.hypot(x, x) if x < 4 else x


def _into_a_branch(x: Any) -> Any:
    sign = np.sign(x)
    return sign * np.hypot(x, x) if x < 4 else x


def _in_a_scan(x: Any) -> Any:
    return ps.scan(lambda c, e: (c + np.sign(e) * np.hypot(e, e), None), 0.0, np.array([0.25, 0.75]) * x)[0]


def _before_a_scan(x: Any) -> Any:
    return ps.scan(lambda c, e: (c + e * np.sign(x) * np.hypot(x, x), None), 0.0, np.array([0.25, 0.75]))[0]


def _in_a_loop(x: Any) -> Any:
    def body(state: Any) -> Any:
        total, i = state
        return total + np.sign(x) * np.hypot(x, x), i + 1

    return ps.while_loop(lambda state: state[1] < 1, body, (0.0 * x, 0))[0]


@pytest.mark.parametrize(
    "function", [_in_a_checkpoint, _in_a_branch, _into_a_branch, _in_a_scan, _before_a_scan, _in_a_loop]
)
def test_the_slope_is_unknown_in_parts_of_a_program_too(function: Function) -> None:
    modes = [by_tangents] if function is _in_a_loop else [by_tangents, by_cotangents]
    for mode in modes:
        assert np.isnan(mode(function, 0.0)), mode
        np.testing.assert_allclose(mode(function, 2.0), np.sqrt(2))


def test_the_slope_by_another_argument_stays() -> None:
    def function(x: Any, p: Any) -> Any:
        return np.sign(x) * np.hypot(x, x) * p

    assert ps.grad(function, 1)(0.0, 2.0) == 0
    assert ps.jvp(function, (0.0, 2.0), (0.0, 1.0))[1] == 0
    assert np.isnan(ps.jvp(function, (0.0, 2.0), (1.0, 1.0))[1])


def test_rows_of_a_jacobian_stay_where_their_own_element_is_not_zero() -> None:
    found = ps.jacobian(SMOOTH["sign(x) hypot(x, x)"])(np.array([0.0, 2.0]))
    np.testing.assert_allclose(found[1], [0, np.sqrt(2)])
    np.testing.assert_array_equal(np.isnan(found[0]), [True, False])


def test_a_loaded_file_has_the_same_unknown_slope(tmp_path: Any) -> None:
    ps.trace(SMOOTH["copysign(hypot(x, x), x)"], PLACES).save(tmp_path / "f.onnx")
    loaded = ps.load(tmp_path / "f.onnx")
    slopes = by_cotangents(loaded, PLACES)
    np.testing.assert_array_equal(np.isnan(slopes), HERE)


def test_a_gradient_that_is_loaded_has_no_plausible_curvature(tmp_path: Any) -> None:
    ps.export(lambda x: np.sum(SMOOTH["sign(x) hypot(x, x)"](x)), PLACES, path=tmp_path / "f.onnx")
    exported = ps.load(tmp_path / "f.onnx")
    second = by_cotangents(lambda x: exported(x)[1], PLACES)
    assert np.all(np.isnan(second[HERE]))
    np.testing.assert_allclose(second[~HERE], 0, atol=1e-14)


MIXING = np.random.default_rng(0).normal(size=(6, 4))


def shrunk(u: Any, by: Any) -> Any:
    return np.sign(u) * np.maximum(np.abs(u) - by, 0)


def by_a_scan(strength: Any, data: Any) -> Any:
    def step(z: Any, _: Any) -> Any:
        return shrunk(z - 0.05 * MIXING.T @ (MIXING @ z - data), 0.05 * strength), None

    return ps.scan(step, np.zeros(4), np.arange(20))[0]


def by_a_loop(strength: Any, data: Any) -> Any:
    z = np.zeros(4)
    for _ in range(20):
        z = shrunk(z - 0.05 * MIXING.T @ (MIXING @ z - data), 0.05 * strength)
    return z


@pytest.mark.parametrize("solve", [by_a_scan, by_a_loop])
def test_sparse_regression_by_soft_thresholds_has_its_gradient(solve: Any) -> None:
    """Iterated shrinkage, whose results are 0 in many places; all are for a large weight of the penalty."""
    data = np.random.default_rng(1).normal(size=6)

    def loss(strength: Any, data: Any) -> Any:
        z = solve(strength, data)
        return np.sum(z**2) + np.sum(np.abs(z)) + np.linalg.norm(z)

    assert np.count_nonzero(solve(1.0, data)) in {1, 2, 3}
    h = 1e-6
    slope = ps.grad(loss)(1.0, data)
    np.testing.assert_allclose(slope, (loss(1.0 + h, data) - loss(1.0 - h, data)) / (2 * h), rtol=1e-7)
    np.testing.assert_allclose(ps.jvp(loss, (1.0, data), (1.0, 0 * data))[1], slope, rtol=1e-12)
    for each in ps.grad(loss, (0, 1))(40.0, data):
        np.testing.assert_array_equal(each, 0 * each)


def test_the_ops_of_a_second_derivative_grow_with_the_number_of_signs() -> None:
    def count(steps: int) -> int:
        def function(x: Any) -> Any:
            for _ in range(steps):
                x = x - 0.1 * np.abs(x) * np.sign(x + 0.1)
            return x

        return len(ps.trace(lambda x: ps.hvp(function, (x,), x), 0.7).block.ops)

    assert count(24) < 2.5 * count(12)
