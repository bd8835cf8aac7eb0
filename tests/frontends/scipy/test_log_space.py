"""Programs of log probabilities in which some states cannot be reached: gradients are those of the probabilities."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import primsplit as ps
from primsplit.ops import op

STATES, STEPS = 3, 4
RANDOM = np.random.default_rng(0)
MOVES = np.triu(RANDOM.uniform(0.2, 1, (STATES, STATES)))
MOVES[0, 2:] = 0
START = np.array([1.0, 0, 0])
SEEN = RANDOM.standard_normal((STEPS, STATES))
with np.errstate(divide="ignore"):
    LOG_MOVES, LOG_START = np.log(MOVES), np.log(START)

SUMS: dict[str, Callable[[Any], Any]] = {
    "logsumexp": lambda x: scipy.special.logsumexp(x, axis=0),
    "logsumexp with weights": lambda x: scipy.special.logsumexp(x, axis=0, b=np.ones((STATES, 1))),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=0),
    "logaddexp.accumulate": lambda x: np.logaddexp.accumulate(x, axis=0)[-1],
    "logaddexp": lambda x: np.logaddexp(np.logaddexp(x[0], x[1]), x[2]),
    "ReduceLogSumExp": lambda x: op.ReduceLogSumExp(x, [0], keepdims=0),
}


def likelihood(add: Callable[[Any], Any], seen: Any, log_moves: Any, is_scan: bool) -> Any:
    """The log likelihood of a hidden Markov model, by the forward algorithm."""

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        return add(state[:, None] + log_moves) + row, 0.0

    state = LOG_START + seen[0]
    if is_scan:
        state, _ = ps.scan(step, state, seen[1:])
    else:
        for t in range(1, STEPS):
            state, _ = step(state, seen[t])
    return add(np.stack([state] * STATES, axis=1))[0]


def of_probabilities(seen: Any, moves: Any) -> Any:
    state = START * np.exp(seen[0])
    for t in range(1, STEPS):
        state = (state @ moves) * np.exp(seen[t])
    return np.log(state.sum())


def differences(function: Callable[[Any], Any], x: Any, step: float = 1e-5) -> Any:
    """Central differences along each element; of arrays, one a row."""
    units = (unit.reshape(x.shape) * step for unit in np.eye(x.size))
    return np.array([(function(x + unit) - function(x - unit)) / (2 * step) for unit in units])


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("is_scan", [False, True])
def test_states_that_cannot_be_reached_spoil_no_derivative(name: str, is_scan: bool) -> None:
    def function(seen: Any, log_moves: Any) -> Any:
        return likelihood(SUMS[name], seen, log_moves, is_scan)

    value, (by_seen, by_moves) = ps.value_and_grad(function, wrt=(0, 1))(SEEN, LOG_MOVES)
    np.testing.assert_allclose(value, of_probabilities(SEEN, MOVES))
    wanted = differences(lambda x: of_probabilities(x, MOVES), SEEN).reshape(SEEN.shape)
    np.testing.assert_allclose(by_seen, wanted, atol=1e-8)
    wanted = differences(lambda x: of_probabilities(SEEN, x), MOVES).reshape(MOVES.shape) * MOVES
    np.testing.assert_allclose(by_moves, wanted, atol=1e-8)
    direction = np.cos(np.arange(SEEN.size)).reshape(SEEN.shape)
    slope = ps.jvp(lambda x: function(x, LOG_MOVES), (SEEN,), (direction,))[1]
    np.testing.assert_allclose(slope, np.sum(by_seen * direction))
    if name in {"logsumexp", "ReduceLogSumExp", "logaddexp"} and not is_scan:
        curvature = ps.hessian(lambda x: function(x, LOG_MOVES))(SEEN).reshape(SEEN.size, -1)
        gradient = ps.grad(function)
        wanted = differences(lambda x: gradient(x, LOG_MOVES).reshape(-1), SEEN)
        np.testing.assert_allclose(curvature, wanted, atol=1e-7)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_where_nothing_can_be_reached_there_is_no_gradient(name: str, dtype: str) -> None:
    """A small cotangent does not hide it."""
    nothing = np.full((STATES, 1), -np.inf, dtype)
    gradient = ps.grad(lambda x: SUMS[name](x)[0].astype(np.float32) * np.float32(1e-6))(nothing)
    if name != "logaddexp.accumulate":
        assert np.isnan(gradient).all()
    assert np.isnan(gradient).any()
    np.testing.assert_array_equal(ps.grad(lambda x: SUMS[name](x)[0] * 0)(nothing), np.zeros((STATES, 1)))


def test_the_logarithm_of_a_negative_sum_has_no_gradient() -> None:
    def f(a: Any, weights: Any) -> Any:
        return scipy.special.logsumexp(a, b=weights)

    a, weights = np.array([1.0, 2.0]), np.array([-2.0, 0.5])
    assert np.isnan(f(a, weights))
    value, slopes = ps.value_and_grad(f, wrt=(0, 1))(a, weights)
    assert np.isnan(value)
    assert np.isnan(slopes).all()
    size = ps.grad(lambda a: scipy.special.logsumexp(a, b=weights, return_sign=True)[0])(a)
    shares = weights * np.exp(a)
    np.testing.assert_allclose(size, shares / shares.sum(), rtol=1e-12)


@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_weight_of_zero_has_the_slope_of_its_exponential(is_loaded: bool, tmp_path: Path) -> None:
    """By algebra: exp(a) / sum(weights * exp(a)), infinite where exp(a) overflows beside the sum."""
    weights = np.array([1.0, 0.0, 0.0])

    def slopes(a: Any) -> Any:
        program: Any = ps.trace(lambda b: scipy.special.logsumexp(a, b=b).real, weights)
        if is_loaded:
            program.save(tmp_path / "sum.onnx")
            program = ps.load(tmp_path / "sum.onnx")
        return ps.grad(program)(weights)

    np.testing.assert_allclose(slopes(np.array([0.0, 10.0, -3.0])), np.exp([0.0, 10.0, -3.0]))
    np.testing.assert_array_equal(slopes(np.array([0.0, 1000.0, np.inf])), [1, np.inf, np.inf])
    turned = np.array([0.0, 1.0j, 2.0 + 1.0j])
    np.testing.assert_allclose(slopes(turned), np.exp(turned).real)
