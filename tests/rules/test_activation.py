"""Rules of activation functions: against their formulas in NumPy, and at their kinks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from primsplit.ops import op
from tests.pointwise import gradient
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of
from tests.versions import UNDERFLOW

POINTS = np.array([-4.0, -2.5, -1.0, -0.3, 0.2, 0.7, 1.5, 2.9, 3.5])


def positive_part(x: Any) -> Any:
    return np.maximum(x, 0)


def soft_plus(x: Any) -> Any:
    return np.logaddexp(0, x)


FORMULAS: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = [
    ("Relu", op.Relu, positive_part),
    ("LeakyRelu", lambda x: op.LeakyRelu(x, alpha=0.25), lambda x: np.where(x < 0, 0.25 * x, x)),
    ("LeakyRelu, negative slope", lambda x: op.LeakyRelu(x, alpha=-0.5), lambda x: np.where(x < 0, -0.5 * x, x)),
    ("Elu", lambda x: op.Elu(x, alpha=1.5), lambda x: np.where(x < 0, 1.5 * np.expm1(x), x)),
    ("Elu, negative alpha", lambda x: op.Elu(x, alpha=-1.5), lambda x: np.where(x < 0, -1.5 * np.expm1(x), x)),
    ("Selu", lambda x: op.Selu(x, alpha=1.5, gamma=1.25), lambda x: 1.25 * np.where(x < 0, 1.5 * np.expm1(x), x)),
    ("Softplus", op.Softplus, soft_plus),
    ("Softsign", op.Softsign, lambda x: x / (1 + np.abs(x))),
    ("Sigmoid", op.Sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    ("Gelu", op.Gelu, lambda x: x * sp.ndtr(x)),
    ("Gelu by tanh", lambda x: op.Gelu(x, approximate="tanh"),
     lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))),
    ("HardSigmoid", lambda x: op.HardSigmoid(x, alpha=0.25, beta=0.5), lambda x: np.clip(0.25 * x + 0.5, 0, 1)),
    ("HardSwish", op.HardSwish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    ("Mish", op.Mish, lambda x: x * np.tanh(soft_plus(x))),
    ("ThresholdedRelu", lambda x: op.ThresholdedRelu(x, alpha=0.5), lambda x: np.where(x > 0.5, x, 0)),
    ("Shrink", lambda x: op.Shrink(x, lambd=0.5, bias=0.25),
     lambda x: np.where(np.abs(x) > 0.5, x - 0.25 * np.sign(x), 0)),
    ("Softmax", lambda x: op.Softmax(x, axis=0) * POINTS, lambda x: np.exp(x) / np.exp(x).sum() * POINTS),
    ("LogSoftmax", lambda x: op.LogSoftmax(x) * POINTS, lambda x: (x - np.log(np.exp(x).sum())) * POINTS),
    ("Clip", lambda x: op.Clip(x, -1.5, 2.0), lambda x: np.clip(x, -1.5, 2.0)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "formula"), [f[1:] for f in FORMULAS], ids=[f[0] for f in FORMULAS])
def test_a_gradient_agrees_with_central_differences_of_the_formula(
    function: Callable[[Any], Any], formula: Callable[[Any], Any]
) -> None:
    step = 1e-5
    moves = step * np.eye(POINTS.size)
    wanted = [(formula(POINTS + m).sum() - formula(POINTS - m).sum()) / (2 * step) for m in moves]
    np.testing.assert_allclose(gradient(function, POINTS), wanted, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ps.trace(function, POINTS)(POINTS), formula(POINTS), rtol=1e-12, atol=1e-14)


KINKS: list[tuple[str, Callable[[Any], Any], list[float], list[float]]] = [
    ("Relu", op.Relu, [0.0], [0]),
    ("LeakyRelu", lambda x: op.LeakyRelu(x, alpha=0.25), [0.0], [0.25]),
    ("PRelu", lambda x: op.PRelu(x, 0.25), [0.0], [0.25]),
    ("Elu", lambda x: op.Elu(x, alpha=1.5), [0.0], [1.5]),
    ("Selu", lambda x: op.Selu(x, alpha=1.5, gamma=2.0), [0.0], [3]),
    ("Softsign", op.Softsign, [0.0], [1]),
    ("HardSigmoid", lambda x: op.HardSigmoid(x, alpha=0.25, beta=0.5), [-2.0, 2.0], [0, 0]),
    ("HardSwish", op.HardSwish, [-3.0, 3.0], [0, 1]),
    ("ThresholdedRelu", lambda x: op.ThresholdedRelu(x, alpha=0.5), [0.5], [0]),
    ("Shrink", lambda x: op.Shrink(x, lambd=0.5), [0.5, -0.5], [0, 0]),
    ("Clip", lambda x: op.Clip(x, -1.0, 1.0), [-1.0, 1.0], [1, 1]),
    ("Clip, lower bound alone", lambda x: op.Clip(x, -1.0), [-1.0, -1.1], [1, 0]),
    ("Clip, upper bound alone", lambda x: op.Clip(x, None, 1.0), [1.0, 1.1], [1, 0]),
    ("Relu under an infinite slope", lambda x: op.Sqrt(op.Relu(x)), [-1.0], [0]),
]


@pytest.mark.parametrize(("function", "point", "wanted"), [k[1:] for k in KINKS], ids=[k[0] for k in KINKS])
def test_the_derivative_at_a_kink_is_the_one_promised(
    function: Callable[[Any], Any], point: list[float], wanted: list[float]
) -> None:
    np.testing.assert_array_equal(gradient(function, point), wanted)


def test_celu_which_onnx_has_in_float32_alone_is_smooth_at_0() -> None:
    x = np.array([-1.0, 0.0, 2.0], np.float32)
    np.testing.assert_allclose(gradient(lambda v: op.Celu(v, alpha=0.5), x), [np.exp(-2.0), 1, 1], rtol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "wanted"), [(-1.0, 1.0, (2.0, 1.0)), (1.0, -1.0, (0.0, 5.0))], ids=["in order", "crossed"]
)
def test_the_bounds_of_clip_get_what_they_cut_off(low: float, high: float, wanted: tuple[float, float]) -> None:
    x = np.array([-3.0, -2.0, -1.0, 0.5, 1.5])
    found = [gradient(op.Clip, x, low, high, wrt=i) for i in (1, 2)]
    assert tuple(found) == wanted


def test_crossed_bounds_of_clip_leave_nothing_for_a_number_at_the_upper_one() -> None:
    assert gradient(op.Clip, np.array([1.0, 2.0, 3.0]), 3.0, 2.0, wrt=0).tolist() == [0.0, 0.0, 0.0]


def test_a_slope_of_prelu_gets_the_negative_inputs() -> None:
    x = np.array([[-1.0, 2.0], [-3.0, -4.0]])
    np.testing.assert_array_equal(gradient(op.PRelu, x, [0.1, 0.2], wrt=1), [-4, -4])


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (1, 3), (1, 1)])
def test_a_slope_larger_than_the_input_is_broadcast_as_onnxruntime_does(shape: tuple[int, int]) -> None:
    x, slope = -np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), np.array([[2.0, 3.0, 5.0]])
    specs = ps.spec("float64", ["N", "M"]), ps.spec("float64", [1, "K"])
    found = ps.split(op.PRelu, *specs).joint()(x, slope, np.ones((shape[0], 3)))
    np.testing.assert_array_equal(found[0], x * slope)
    wide = np.broadcast_to(slope, (shape[0], 3))
    np.testing.assert_array_equal(found[1], wide.sum(1, keepdims=True) if shape[1] == 1 else wide)
    np.testing.assert_array_equal(found[2], np.broadcast_to(x, wide.shape).sum(0, keepdims=True))


@pytest.mark.parametrize("shape", [(1, 0), (0, 2), (0, 0), (2, 3)])
def test_a_hardmax_of_float64_has_the_shape_of_what_it_is_of(shape: tuple[int, ...]) -> None:
    x = np.tile(np.array([-np.inf, 2.0, 2.0])[: shape[1]], (shape[0], 1))
    wanted = np.tile(np.array([0.0, 1.0, 0.0])[: shape[1]], (shape[0], 1))
    np.testing.assert_array_equal(ps.trace(op.Hardmax, ps.spec("float64", ["N", "M"]))(x), wanted)


def test_no_gradient_flows_through_hardmax() -> None:
    np.testing.assert_array_equal(gradient(lambda x: op.Hardmax(x) + x, POINTS), np.ones_like(POINTS))


@pytest.mark.parametrize("kind", ["Relu", "Elu", "Sigmoid", "Softmax", "LogSoftmax", "Selu", "LeakyRelu"])
def test_a_rule_captures_its_output_alone_where_that_is_enough(kind: str) -> None:
    made = ps.split(getattr(op, kind), ps.spec("float64", ["N", 3]))
    assert [made.split.kind(c) for c in made.captures] == ["output"]


def test_the_gradient_of_softmax_sums_to_zero_and_is_zero_for_masked_logits() -> None:
    x = np.array([[1.0, -np.inf, 2.0]])
    found = gradient(lambda v: op.Softmax(v) * np.array([1.0, 5.0, 3.0]), x)
    assert abs(found[0, 1]) <= 5 * UNDERFLOW
    assert found.sum() == pytest.approx(0.0, abs=1e-15)


def test_a_gelu_keeps_its_input_alone_where_its_kernel_takes_one_pass() -> None:
    captured = {}
    for dtype in ("float32", "float64"):
        made = ps.split(lambda x: op.Gelu(x), ps.spec(dtype, ["N", 3]))
        captured[dtype] = sorted(made.split.kinds().values())
    assert captured == {"float32": ["input"], "float64": ["input", "intermediate"]}


@pytest.mark.parametrize("row", rows_of("activation"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
