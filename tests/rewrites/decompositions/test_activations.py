"""Activations in float64, for which onnxruntime has no kernel: accurate in both tails."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special

import primsplit as ps
from primsplit.ops import op

X = np.array([-700.0, -40.0, -3.0, -1.0, -0.5, -1e-9, 0.0, 1e-9, 0.3, 1.0, 2.5, 40.0, 700.0])
ONE = mpmath.mpf(1)


def sigmoid(x: Any) -> Any:
    return ONE / (1 + mpmath.exp(-x))


def softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


ALPHA, GAMMA = mpmath.mpf("1.67326319217681884765625"), mpmath.mpf("1.05070102214813232421875")

ROWS: list[tuple[str, dict[str, Any], Callable[[Any], Any]]] = [
    ("Sigmoid", {}, sigmoid),
    ("Softplus", {}, softplus),
    ("Softsign", {}, lambda x: x / (1 + abs(x))),
    ("Elu", {"alpha": 0.75}, lambda x: x if x > 0 else 0.75 * mpmath.expm1(x)),
    ("Selu", {}, lambda x: GAMMA * (x if x > 0 else ALPHA * mpmath.expm1(x))),
    ("Mish", {}, lambda x: x * mpmath.tanh(softplus(x))),
    ("Gelu", {}, lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
    (
        "Gelu",
        {"approximate": "tanh"},
        lambda x: x * sigmoid(2 * mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf(0.044715) * x**3)),
    ),
    ("HardSigmoid", {"alpha": 0.25}, lambda x: max(0, min(1, x / 4 + 0.5))),
    ("HardSwish", {}, lambda x: x * max(0, min(1, x / 6 + mpmath.mpf(0.5)))),
    ("LeakyRelu", {"alpha": 0.25}, lambda x: x if x >= 0 else x / 4),
    ("ThresholdedRelu", {"alpha": 1.0}, lambda x: x if x > 1 else 0),
    ("Shrink", {"lambd": 1.0, "bias": 0.25}, lambda x: x - 0.25 if x > 1 else x + 0.25 if x < -1 else 0),
]


@pytest.mark.parametrize(("kind", "attributes", "exact"), ROWS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_value_is_right_to_a_few_units_in_the_last_place(
    kind: str, attributes: dict[str, Any], exact: Callable[[Any], Any]
) -> None:
    program = ps.trace(lambda x: getattr(op, kind)(x, **attributes), X)
    assert kind not in {node.op_type for node in program.to_onnx().graph.node}
    with mpmath.workdps(60):
        wanted = np.array([float(exact(mpmath.mpf(float(x)))) for x in X])
    np.testing.assert_allclose(program(X), wanted, rtol=2e-15, atol=1e-322)


def test_a_slope_of_prelu_is_that_of_its_channel() -> None:
    x = np.array([[-2.0, 3.0], [-4.0, -6.0]])
    found = ps.trace(op.PRelu, x, np.array([0.5, 0.25]))(x, np.array([0.5, 0.25]))
    np.testing.assert_array_equal(found, [[-1.0, 3.0], [-2.0, -1.5]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("odd", [np.nan, -np.inf, 0.0])
def test_a_log_softmax_is_nan_in_each_row_with_a_nan(odd: float, axis: int) -> None:
    x = np.random.default_rng(0).standard_normal((6, 5)) * 300
    x[[0, 1, 3, 4], [0, 1, 4, 0]] = odd
    found = ps.trace(lambda x: op.LogSoftmax(x, axis=axis), ps.spec("float64", ["N", "M"]))(x)
    np.testing.assert_allclose(found, special.log_softmax(x, axis=axis), rtol=1e-14)
