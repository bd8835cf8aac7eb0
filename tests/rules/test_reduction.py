"""Rules of reductions where the axes are known only at run time, where sizes vanish, and where products hold zeros."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.programs.pushed import push_program
from primsplit.testing import directional_derivative
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

X = np.array([[[0.3, 1.7], [0.9, 2.1], [1.3, 0.6]], [[2.6, 0.4], [1.1, 1.9], [0.8, 2.3]]])

PLAIN: dict[str, Callable[..., Any]] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceProd": np.prod,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceL1": lambda x, **o: np.sum(np.abs(x), **o),
    "ReduceL2": lambda x, **o: np.sqrt(np.sum(x * x, **o)),
    "ReduceLogSum": lambda x, **o: np.log(np.sum(x, **o)),
    "ReduceLogSumExp": lambda x, **o: np.log(np.sum(np.exp(x), **o)),
    "ReduceSumSquare": lambda x, **o: np.sum(x * x, **o),
}


def check_gradient(function: Callable[[Any], Any], gradient: Any, x: Any) -> None:
    random = np.random.default_rng(0)
    for _ in range(3):
        direction = random.standard_normal(x.shape)
        wanted = directional_derivative(lambda moved: float(function(moved[0])), [x], [direction], 1e-3)
        np.testing.assert_allclose(np.sum(gradient * direction), wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("axes", [[1], [-1, 0], [0, 1, 2], []], ids=str)
@pytest.mark.parametrize("noop", [0, 1])
@pytest.mark.parametrize("kind", PLAIN)
def test_the_axes_of_a_reduction_may_be_known_only_at_run_time(kind: str, noop: int, axes: list[int]) -> None:
    def loss(x: Any, places: Any) -> Any:
        reduced = getattr(op, kind)(x, places, keepdims=1, noop_with_empty_axes=noop)
        return op.ReduceSum(reduced * reduced, keepdims=0)

    made = ps.split(loss, ps.spec("float64", ["N", 3, "M"]), ps.spec("int64", ["K"]), wrt=[0]).joint()
    _, gradient = made(X, np.array(axes, np.int64))
    over = tuple(axes) if axes or noop else (0, 1, 2)
    check_gradient(lambda x: np.sum(PLAIN[kind](x, axis=over, keepdims=True) ** 2), gradient, X)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_logsumexp_over_axes_of_the_run_has_a_tangent(dtype: str) -> None:
    """Its value and its cotangent have the same shape, by two names."""
    of = ps.trace(
        lambda x, axes: op.ReduceLogSumExp(x, axes, keepdims=0), ps.spec(dtype, [2, 3]), ps.spec("int64", [1])
    )
    x, dx = np.array([[0.5, 1.0, -2.0], [0.25, 3.0, 1.0]]), np.array([[1.0, 2.0, -0.5], [0.5, 0.25, 4.0]])
    _, tangent = push_program(of, [0], [0]).joint()(x.astype(dtype), np.array([1]), dx.astype(dtype))
    wanted = np.sum(np.exp(x) * dx, axis=1) / np.sum(np.exp(x), axis=1)
    np.testing.assert_allclose(tangent.astype(np.float64), wanted, rtol=2e-2 if dtype == "bfloat16" else 1e-6)


@pytest.mark.parametrize("kind", PLAIN)
def test_a_reduction_of_nothing_has_a_gradient_of_nothing(kind: str) -> None:
    made = ps.split(lambda x: getattr(op, kind)(x, [1], keepdims=0), ps.spec("float64", ["N", "M"])).joint()
    for shape in ((0, 3), (3, 0), (0, 0)):
        value, gradient = made(np.zeros(shape), np.ones(shape[0]))
        assert value.shape == shape[:1]
        assert gradient.shape == shape


ZEROS = np.array([[1.5, 2.0, -3.0, 0.5], [0.0, 2.0, -3.0, 0.5], [0.0, 2.0, 0.0, 0.5], [0.0, 2.0, 0.0, 0.0]])


def derivative_of_product(factors: Any, places: tuple[int, ...]) -> float:
    """The derivative of the product of the factors by those at some places."""
    if len(set(places)) < len(places):
        return 0.0
    return float(np.prod([f for i, f in enumerate(factors) if i not in places]))


@pytest.mark.parametrize("size", [4, "N"])
@pytest.mark.parametrize("row", range(4))
def test_a_product_has_all_its_derivatives_up_to_the_third_at_any_number_of_zeros(row: int, size: Any) -> None:
    def first(x: Any) -> Any:
        return ps.grad(lambda y: op.ReduceProd(y, [0], keepdims=0))(x)

    def second(x: Any, v: Any) -> Any:
        return ps.grad(lambda y: op.ReduceSum(first(y) * v, keepdims=0))(x)

    def third(x: Any, v: Any, w: Any) -> Any:
        return ps.grad(lambda y: op.ReduceSum(second(y, v) * w, keepdims=0))(x)

    vector = ps.spec("float64", [size])
    program = ps.trace(lambda x, v, w: (first(x), second(x, v), third(x, v, w)), vector, vector, vector)
    unit, factors = np.eye(4), ZEROS[row]
    for i, j in itertools.product(range(4), repeat=2):
        found = program(factors, unit[i], unit[j])
        np.testing.assert_allclose(found[0], [derivative_of_product(factors, (k,)) for k in range(4)])
        np.testing.assert_allclose(found[1], [derivative_of_product(factors, (k, i)) for k in range(4)])
        np.testing.assert_allclose(found[2], [derivative_of_product(factors, (k, i, j)) for k in range(4)])


def test_many_arrays_share_the_gradient_of_their_maximum_evenly() -> None:
    def loss(a: Any, b: Any, c: Any) -> Any:
        return op.ReduceSum(op.Max(a, b, c), keepdims=0)

    gradients = ps.grad(loss, wrt=(0, 1, 2))(np.array([1.0, 2.0]), np.array([1.0, 0.0]), np.array([1.0]))
    for gradient, wanted in zip(gradients, ([1 / 3, 1], [1 / 3, 0], [1 / 3]), strict=True):
        np.testing.assert_allclose(gradient, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["ReduceL2", "ReduceLogSumExp", "ReduceSumSquare"])
def test_a_slow_reduction_is_written_with_fast_ones(kind: str, dtype: str) -> None:
    model = ps.trace(lambda x: getattr(op, kind)(x, [1]), ps.spec(dtype, ["N", 4])).to_onnx()
    assert kind not in {node.op_type for node in model.graph.node}


@pytest.mark.parametrize("row", rows_of("reduction"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
