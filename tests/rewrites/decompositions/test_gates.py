"""Activations of recurrent layers: the standard's functions, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.decompositions.gates import ALPHAS, BETAS, NAMES, Activation

A = np.array([-3.1, -0.6, -0.2, 0.3, 0.45, 1.7, 3.3])
FUNCTIONS = {
    "Affine": lambda a: 0.7 * a + 0.2,
    "Elu": lambda a: np.where(a < 0, 0.7 * np.expm1(a), a),
    "HardSigmoid": lambda a: np.clip(0.7 * a + 0.2, 0, 1),
    "LeakyRelu": lambda a: np.where(a < 0, 0.7 * a, a),
    "Relu": lambda a: np.maximum(a, 0),
    "ScaledTanh": lambda a: 0.7 * np.tanh(0.2 * a),
    "Sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "Softplus": lambda a: np.log1p(np.exp(a)),
    "Softsign": lambda a: a / (1 + np.abs(a)),
    "Tanh": np.tanh,
    "ThresholdedRelu": lambda a: np.where(a > 0.7, a, 0),
}


@pytest.mark.parametrize("clip", [0.0, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_value_and_its_slope_are_those_of_the_function(name: str, clip: float) -> None:
    own = Activation(name, 0.7, 0.2, clip)

    def exact(a: np.ndarray) -> np.ndarray:
        return FUNCTIONS[name](np.clip(a, -clip, clip) if clip else a)  # type: ignore[no-any-return]

    value, slope = ps.trace(lambda a: (own.value(a), own.slope(a, own.value(a))), A)(A)
    np.testing.assert_allclose(value, exact(A), rtol=1e-13)
    np.testing.assert_allclose(slope, (exact(A + 1e-6) - exact(A - 1e-6)) / 2e-6, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_slope_by_its_value_alone_is_the_same(name: str) -> None:
    own = Activation(name)
    assert own.is_told_by_its_value == (name in {"Relu", "Sigmoid", "Tanh"})
    if own.is_told_by_its_value:
        by_value, slope = ps.trace(lambda a: (own.slope(None, own.value(a)), own.slope(a, own.value(a))), A)(A)
        np.testing.assert_array_equal(by_value, slope)
    assert not Activation(name, clip=1.0).is_told_by_its_value


def test_defaults_are_those_of_functions_with_such_numbers() -> None:
    assert set(ALPHAS) | set(BETAS) <= set(NAMES)
    assert set(BETAS) <= set(ALPHAS)


PARAMETERS = {"Affine": (0.3, 0.7), "Elu": (0.4, 0), "HardSigmoid": (0.3, 0.6), "LeakyRelu": (0.2, 0),
              "ScaledTanh": (0.5, 1.5), "ThresholdedRelu": (0.3, 0)}  # fmt: skip


@pytest.mark.parametrize("clip", [0.0, 0.8])
@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_an_activation_is_that_of_its_differences(name: str, clip: float) -> None:
    activation = Activation(name, *PARAMETERS.get(name, (0, 0)), clip)
    points = np.array([-2.1, -0.9, -0.45, -0.05, 0.05, 0.35, 0.75, 0.95, 3.0])

    def slope(a: Any) -> Any:
        return activation.slope(a, activation.value(a))

    value, found = ps.trace(activation.value, points), ps.trace(slope, points)(points)
    np.testing.assert_allclose(found, (value(points + 1e-6) - value(points - 1e-6)) / 2e-6, rtol=1e-8, atol=1e-9)
