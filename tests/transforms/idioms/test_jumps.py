"""Products with functions of signs have the slope that they have beside 0; ordinary programs keep theirs and their ops.

The expected slopes are those of the smooth functions that the products are equal to, and central differences.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.transforms.idioms.jumps import with_slopes_beside_jumps

Function = Callable[[Any], Any]
SMOOTH: dict[str, tuple[Function, float]] = {
    "sign(x**2) x": (lambda x: np.sign(x * x) * x, 1),
    "sign(x)**2 sin(x)": (lambda x: np.sign(x) ** 2 * np.sin(x), 1),
    "sign(x)**4 x": (lambda x: x * np.sign(x) ** 4, 1),
    "sign(x) where(x > 0, x, -x)": (lambda x: np.sign(x) * np.where(x > 0, x, -x), 1),
    "sign(x) sin(x) sign(x) exp(x)": (lambda x: np.sin(x) * np.sign(x) * np.exp(x) * np.sign(x), 1),
    "sign(x) sin(x) times sign(x) cos(x)": (lambda x: (np.sign(x) * np.sin(x)) * (np.sign(x) * np.cos(x)), 1),
    "sign(x) sign(-x) tan(x)": (lambda x: np.sign(x) * np.sign(-x) * np.tan(x), -1),
    "sign(hypot(x, x)) sin(x)": (lambda x: np.sign(np.hypot(x, x)) * np.sin(x), 1),
    "|sign(x)| sin(x)": (lambda x: 3 * np.abs(np.sign(x)) * np.sin(x), 3),
    "cos(pi sign(x)) x": (lambda x: np.cos(np.pi * np.sign(x)) * x, -1),
    "sqrt(1 + sign(x)**2) sin(x)": (lambda x: np.sqrt(1 + np.sign(x) ** 2) * np.sin(x), np.sqrt(2)),
    "a quotient by a function of a sign": (lambda x: np.sin(x) / (1 + np.sign(x) ** 2), 0.5),
    "a rounded sign": (lambda x: np.rint(0.9 * np.sign(x)) ** 2 * np.sin(x), 1),
    "comparisons for a sign": (lambda x: ((x > 0) * 1.0 - (x < 0) * 1.0) ** 2 * np.sin(x), 1),
    "two steps": (lambda x: 4 * np.heaviside(x, 0.5) * (np.heaviside(x, 0.5) - 1) * np.sin(x) + np.sin(x), 1),
    "x / |x|, guarded": (lambda x: np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))) ** 2 * np.sin(x), 1),
    "sign(x)**3 |x|": (lambda x: np.sign(x) ** 3 * np.abs(x), 1),
    "sign(x)**3 tanh(|x|)": (lambda x: np.sign(x) ** 3 * np.tanh(np.abs(x)), 1),
    "three signs": (lambda x: np.sign(x) * np.sign(x) * np.sign(x) * np.tanh(np.abs(x)), 1),
    "sign(x)**3 sin(x)": (lambda x: np.sign(x) ** 3 * np.sin(x), 0),
    "|x| where x is positive, else x": (lambda x: np.where(x >= 0, np.abs(x), x), 1),
    "|x| with the sign of a comparison": (lambda x: np.abs(x) * np.where(x < 0, -1, 1), 1),
    "a sign in another shape": (lambda x: (np.sign(x)[..., None] ** 2 * np.sin(x)[..., None])[..., 0], 1),
    "a sum with a function of a sign": (lambda x: (2 - np.sign(x) ** 2 - x) * np.sin(x), 1),
    "floors and ceilings": (lambda x: (np.floor(x) + np.ceil(x)) ** 2 * np.sin(x), 1),
    "one minus a floor and a ceiling": (lambda x: (1 - np.ceil(x) + np.floor(x)) * np.sin(x), 0),
    "the sign of a norm": (lambda x: np.sign(np.sqrt(x * x)) * np.sin(x), 1),
    "a step times a choice: its slopes are 0 and 1": (lambda x: (x >= 0) * np.where(x > 0, x, -x), 0.5),
    "sign(x)**2 hypot(x, x)": (lambda x: np.sign(x) ** 2 * np.hypot(x, x), 0),
}
UNKNOWN: dict[str, Function] = {
    "(2 heaviside(x, 0.5) - 1) hypot(x, x)": lambda x: (2 * np.heaviside(x, 0.5) - 1) * np.hypot(x, x),
    "(2 (x > 0) - 1) hypot(x, x)": lambda x: ((x > 0) * 2.0 - 1) * np.hypot(x, x),
    "(2 (x >= 0) - 1) hypot(x, x)": lambda x: (2.0 * (x >= 0) - 1) * np.hypot(x, x),
    "x / |x|, guarded, with a root": lambda x: np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x))) * np.hypot(x, x),
    "(2 floor(x) + 1) hypot(x, x)": lambda x: (2 * np.floor(x) + 1) * np.hypot(x, x),
    "(floor(x) + ceil(x)) hypot(x, x)": lambda x: (np.floor(x) + np.ceil(x)) * np.hypot(x, x),
    "sign(x)**3 hypot(x, x)": lambda x: np.sign(x) ** 3 * np.hypot(x, x),
}
"""Smooth too, with a slope other than 0, which the rules do not find."""


def masked_quotient(x: Any) -> Any:
    is_zero = np.asarray(x == 0, float)
    return is_zero * x / 2 + (1 - is_zero) * (1 - np.cos(x)) / (x + is_zero)


ORDINARY: dict[str, tuple[Function, float]] = {
    "maximum": (lambda x: np.maximum(x, 0.0), 0.5),
    "relu by a choice": (lambda x: np.where(x > 0, x, 0.0), 0.0),
    "relu by a comparison": (lambda x: (x > 0) * x, 0.0),
    "leaky relu": (lambda x: np.where(x > 0, x, 0.1 * x), 0.1),
    "|x|": (np.abs, 0.0),
    "x sign(x)": (lambda x: x * np.sign(x), 0.0),
    "sin(x) sign(x)": (lambda x: np.sin(x) * np.sign(x), 0.0),
    "Huber's loss": (lambda x: np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5), 0.0),
    "the quantile loss": (lambda x: np.where(x >= 0, 0.9 * x, -0.1 * x), 0.9),
    "the quantile loss by sizes": (lambda x: np.where(x >= 0, 0.9 * np.abs(x), 0.1 * np.abs(x)), 0.0),
    "the quantile loss by maxima": (lambda x: np.maximum(0.9 * x, -0.1 * x), 0.4),
    "a soft threshold": (lambda x: np.sign(x) * np.maximum(np.abs(x) - 1, 0), 0.0),
    "a step by a sign": (lambda x: x - 0.1 * np.sign(x), 1.0),
    "the hinge loss": (lambda x: np.maximum(0.0, -x), -0.5),
    "a signed logarithm": (lambda x: np.sign(x) * np.log1p(np.abs(x)), 1.0),
    "a step function": (lambda x: np.heaviside(x, 0.5) * x, 0.5),
    "tan(x) by its sign and one that is not 0": (lambda x: np.sign(x) * np.sign(np.exp(x) - 0.5) * np.tan(x), 0.0),
    "half of x sin(x) times its sign": (lambda x: np.sign(x * np.sin(x)) * (0.5 * x * np.sin(x)), 0.0),
    "a relative error": (lambda x: 2 * np.abs(x - 1) / (np.abs(x) + 1), -2.0),
    "a norm": (lambda x: np.hypot(x, x), 0.0),
    "a mask of other numbers": (lambda x: np.where(np.abs(x) > 1, 0, np.sin(x)), 1.0),
    "a difference of maxima": (lambda x: np.maximum(x, 0.0) - np.maximum(-x, 0.0), 1.0),
    "a bound": (lambda x: np.clip(x, 0, 1), 1.0),
    "a test for 0": (lambda x: (x != 0) * np.sin(x), 0.0),
    "a choice by a test for 0": (lambda x: np.where(x != 0, x, 0.0), 0.0),
    "(1 - cos(x)) / x with its limit, by masks": (masked_quotient, 0.5),
    "masks in another shape": (
        lambda x: ((x == 0)[..., None] * x[..., None] + (x != 0)[..., None] * np.sin(x)[..., None])[..., 0],
        1.0,
    ),
    "sin(x) and its slope, by masks": (lambda x: (x == 0) * x + (x != 0) * np.sin(x), 1.0),
    "a mask by a size": (lambda x: (np.abs(x) > 0) * np.sin(x) + (1 - (np.abs(x) > 0)) * x, 1.0),
}
PLACES = np.array([0.0, -0.0, 0.6, -0.3, 1.7])
HERE = PLACES == 0


def differences(function: Function, x: Any, h: float = 1e-6) -> Any:
    return (function(x + h) - function(x - h)) / (2 * h)


def slopes(function: Function, x: Any) -> list[Any]:
    def total(x: Any) -> Any:
        return np.sum(function(x))

    ones = np.ones(np.shape(x))
    return [ps.grad(total)(x), ps.jvp(function, (x,), (ones,))[1], ps.grad(lambda x: np.sum(ps.vmap(function)(x)))(x)]


@pytest.mark.parametrize("name", SMOOTH)
def test_a_product_that_is_smooth_has_the_slope_that_it_has_beside_zero(name: str) -> None:
    function, expected = SMOOTH[name]
    for found in slopes(function, PLACES):
        np.testing.assert_allclose(found[HERE], expected, rtol=1e-15)
        np.testing.assert_allclose(found[~HERE], differences(function, PLACES[~HERE]), rtol=1e-7)
    value, _ = ps.value_and_grad(lambda x: np.sum(function(x)))(PLACES)
    assert value == ps.trace(lambda x: np.sum(function(x)), PLACES)(PLACES)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_product_with_a_root_whose_slope_is_not_found_has_none(name: str) -> None:
    function = UNKNOWN[name]
    for found in slopes(function, PLACES):
        assert np.all(np.isnan(found[HERE]))
        np.testing.assert_allclose(found[~HERE], differences(function, PLACES[~HERE]), rtol=1e-7)


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_programs_keep_their_slopes_and_their_ops(name: str) -> None:
    function, expected = ORDINARY[name]
    for found in slopes(function, PLACES):
        np.testing.assert_allclose(found[HERE], expected, rtol=1e-14)
    block = ps.trace(function, PLACES).block
    assert with_slopes_beside_jumps(block, [0]) is block


"""Programs whose gradients and files must not change."""


def test_second_slopes_are_those_of_the_smooth_function() -> None:
    """sign(x)**2 exp(x) sin(x) is exp(x) sin(x), with the second slope 2 exp(x) cos(x)."""

    def function(x: Any) -> Any:
        return np.sum(np.sign(x) ** 2 * np.exp(x) * np.sin(x))

    expected = 2 * np.exp(PLACES) * np.cos(PLACES)
    np.testing.assert_allclose(ps.hvp(function, (PLACES,), np.ones(5)), expected, rtol=1e-12)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(ps.grad(function)(x)))(PLACES), expected, rtol=1e-12)


def in_a_scan(x: Any) -> Any:
    weights = np.array([0.25, 0.5, 2.0])
    return ps.scan(lambda c, e: (c + np.sign(e * x) ** 2 * np.sin(e * x), None), 0.0, weights)[0]


def in_a_branch(x: Any) -> Any:
    return np.sign(x) ** 2 * np.tan(2.75 * x) if x < 1 else x


def into_a_branch(x: Any) -> Any:
    sign = np.sign(x) ** 2
    return sign * np.sin(2.75 * x) if x < 1 else x


def in_a_checkpoint(x: Any) -> Any:
    return ps.checkpoint(lambda x: np.sign(x) ** 2 * np.sin(2.75 * x))(x)


@pytest.mark.parametrize("function", [in_a_scan, in_a_branch, into_a_branch, in_a_checkpoint])
def test_parts_of_a_program_are_searched_too(function: Function) -> None:
    assert ps.grad(function)(0.0) == 2.75
    assert ps.jvp(function, (0.0,), (1.0,))[1] == 2.75
    np.testing.assert_allclose(ps.grad(function)(0.4), differences(function, 0.4), rtol=1e-7)


def test_a_branch_of_a_batch_gives_a_value_or_its_negative_too() -> None:
    """As without a batch, where the slope is unknown: a plausible 0 it is not."""

    def function(x: Any) -> Any:
        return np.abs(x) if x >= 0 else -np.abs(x)

    for found in (ps.grad(lambda x: np.sum(ps.vmap(function)(x)))(PLACES), ps.vmap(ps.grad(function))(PLACES)):
        assert not np.any(found[HERE] == 0)
        np.testing.assert_array_equal(found[~HERE], 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_loaded_file_has_the_slope_too(dtype: Any, tmp_path: Any) -> None:
    x = PLACES.astype(dtype)
    ps.trace(SMOOTH["sign(x)**2 sin(x)"][0], x).save(tmp_path / "f.onnx")
    loaded = ps.load(tmp_path / "f.onnx")
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(loaded(x)))(x), np.cos(x), rtol=1e-6)


def test_a_mask_of_data_leaves_the_slopes_by_weights_at_zero() -> None:
    """Rows of zeros are masked: the weights and the bias, which start at 0, have the slope of the other rows alone."""
    data = np.array([[0.0, 0.0], [1.0, 2.0]])
    target = np.array([5.0, 3.0])

    def loss(weights: Any, bias: Any, data: Any) -> Any:
        mask = np.sign(np.abs(data).sum(axis=1))
        return np.sum((mask * (data @ weights + bias) - mask * target) ** 2)

    by_weights, by_bias, _ = ps.grad(loss, (0, 1, 2))(np.zeros(2), 0.0, data)
    np.testing.assert_array_equal(by_weights, [-6, -12])
    assert by_bias == -6


def test_the_sign_of_one_element_leaves_the_slope_by_another() -> None:
    assert ps.grad(lambda x: np.sign(x[0]) ** 2 * x[1] + x[0])(np.array([0.0, 0.0]))[1] == 0
