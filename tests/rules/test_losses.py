"""Classification losses: ignored targets, symbolic sizes, and PyTorch's numbers."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

SCORES = np.random.default_rng(0).normal(size=(4, 3))
TARGET = np.array([0, 2, 1, 2])


def loss(kind: str, **attributes: Any) -> Any:
    def made(scores: ps.Array, target: ps.Array, *weight: ps.Array) -> ps.Array:
        found: ps.Array = getattr(op, kind)(scores, target, *weight, **attributes)
        return found

    return made


def probabilities(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))


def test_the_gradient_of_the_mean_is_probabilities_less_the_target_over_the_number_of_targets() -> None:
    found = ps.grad(loss("SoftmaxCrossEntropyLoss"))(SCORES, TARGET)
    np.testing.assert_allclose(found, (probabilities(SCORES) - np.eye(3)[TARGET]) / 4, rtol=1e-12, atol=1e-15)


def test_an_ignored_target_that_is_no_class_has_no_gradient_and_does_not_count() -> None:
    target = np.array([0, -100, 1, -100])
    found = ps.grad(loss("SoftmaxCrossEntropyLoss", ignore_index=-100))(SCORES, target)
    wanted = (probabilities(SCORES) - np.eye(3)[np.maximum(target, 0)]) / 2 * (target >= 0)[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


def test_an_ignored_target_with_a_logarithm_of_minus_infinity_leaves_the_others_alone() -> None:
    logarithms = np.array([[-np.inf, 0.0], [-1.0, -2.0]])
    value, (d_logarithms, d_weight) = ps.value_and_grad(
        loss("NegativeLogLikelihoodLoss", ignore_index=0, reduction="sum"), wrt=(0, 2)
    )(logarithms, np.array([0, 1]), np.array([1.0, 3.0]))
    assert float(value) == 6.0
    np.testing.assert_array_equal(d_logarithms, [[0, 0], [0, -3]])
    np.testing.assert_array_equal(d_weight, [0, 2])


@pytest.mark.parametrize("kind", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
def test_the_mean_over_no_targets_is_nan_and_has_no_gradient_as_in_torch(kind: str) -> None:
    ignored, weight = np.ones(4, np.int64), np.array([1.0, 2.0, 0.5])
    value, gradient = ps.value_and_grad(loss(kind, ignore_index=1))(SCORES, ignored)
    assert np.isnan(value)
    np.testing.assert_array_equal(gradient, np.zeros_like(SCORES))
    _, gradients = ps.value_and_grad(loss(kind, ignore_index=1), wrt=(0, 2))(SCORES, ignored, weight)
    for found in gradients:
        np.testing.assert_array_equal(found, np.zeros_like(found))


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("kind", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
def test_the_number_of_targets_may_be_a_symbol(kind: str, size: int) -> None:
    specs = ps.spec("float64", ["N", 3]), ps.spec("int64", ["N"]), ps.spec("float64", [3])
    split = ps.split(loss(kind, reduction="sum", ignore_index=1), *specs, wrt=(0, 2)).joint()
    scores, target, weight = SCORES[:size], TARGET[:size], np.array([1.0, 2.0, 0.5])
    _, d_scores, d_weight = split(scores, target, weight)
    picked = np.where(target == 1, 0, weight[target])[:, None]
    one_hot = np.eye(3)[target]
    inner = probabilities(scores) if kind == "SoftmaxCrossEntropyLoss" else 0.0
    np.testing.assert_allclose(d_scores, picked * (inner - one_hot), rtol=1e-12, atol=1e-15)
    logarithms = np.log(probabilities(scores)) if kind == "SoftmaxCrossEntropyLoss" else scores
    wanted = -(one_hot * logarithms).sum(0) * [1, 0, 1]
    np.testing.assert_allclose(d_weight, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 4), (2, 3, 2, 2)])
def test_gradients_are_those_of_torch(shape: tuple[int, ...], reduction: str) -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(1)
    scores, weight = random.normal(size=shape), random.uniform(0.3, 2.0, 3)
    target = random.integers(0, 3, (shape[0], *shape[2:]))
    for kind, name in (("SoftmaxCrossEntropyLoss", "cross_entropy"), ("NegativeLogLikelihoodLoss", "nll_loss")):
        made = loss(kind, reduction=reduction, ignore_index=2)
        found = ps.grad(lambda x, t, w, f=made: (f(x, t, w) ** 2).sum())(scores, target, weight)
        x = torch.tensor(scores, requires_grad=True)
        function = getattr(torch.nn.functional, name)
        y = function(x, torch.tensor(target), torch.tensor(weight), reduction=reduction, ignore_index=2)
        (y**2).sum().backward()
        np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("row", rows_of("losses"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
