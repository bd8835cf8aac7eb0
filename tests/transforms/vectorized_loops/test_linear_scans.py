"""Scans that are linear in a few small carries: the loop's values and right gradients, without a step for each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing import check_grads
from primsplit.transforms.vectorized_loops import linear_scans

random = np.random.default_rng(8)
RATES, INPUTS = random.uniform(-0.9, 0.9, 300), random.standard_normal(300)


def discounted(rates: Any, inputs: Any, **options: Any) -> Any:
    return ps.scan(lambda s, x: (0.95 * s + x[1],) * 2, 0.5, (rates, inputs), **options)


def filtered(rates: Any, inputs: Any, **options: Any) -> Any:
    def step(s: Any, x: Any) -> Any:
        s = x[0] * s - x[1]
        return s, (s, 2.0 - s / 3.0)

    return ps.scan(step, 1.5, (rates, inputs), **options)


def coupled(rates: Any, inputs: Any, **options: Any) -> Any:
    """Two carries, one of which is stacked before a step."""

    def step(carry: Any, x: Any) -> Any:
        a, b = carry
        return (0.9 * a - x[0] * b + x[1], x[0] * a + 0.5 * (b - 1.0)), (a * x[1], -b)

    return ps.scan(step, (inputs[0], 0.2), (rates, inputs), **options)


def of_rows(rates: Any, inputs: Any, **options: Any) -> Any:
    """Vectors are carried, with factors that are the same in each step, or in each element."""
    factors = np.array([0.3, -0.8, 0.9])

    def step(carry: Any, x: Any) -> Any:
        a, b, c = carry
        return (factors * a + x[1], np.where(x[0] > 0, b, a * x[0]), 0.5 * c + b), (a + b + c, x[0] * factors)

    return ps.scan(step, (np.zeros(3), factors, factors * inputs[0]), (rates, inputs), **options)


def of_a_matrix(rates: Any, inputs: Any, **options: Any) -> Any:
    """A vector and a number are carried, through products, slices and stacks."""
    matrix = np.array([[0.4, -0.5], [0.3, 0.6]])

    def step(carry: Any, x: Any) -> Any:
        s, c = carry
        s = matrix @ s + np.stack([x[1], c])
        return (s, 0.5 * c - x[0] * s[1]), (s[::-1] * 2.0 - 1.0, np.sum(s))

    return ps.scan(step, (matrix[0], inputs[0]), (rates, inputs), **options)


def hidden(rates: Any, inputs: Any, **options: Any) -> Any:
    """A hidden Markov model of three states."""
    moves = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])

    def step(state: Any, x: Any) -> Any:
        state = state @ moves * (1.0 + 0.3 * np.tanh(np.stack([x[0], x[1], x[0] * x[1]])))
        return state, state

    return ps.scan(step, np.ones(3) / 3.0, (rates, inputs), **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (discounted, filtered, coupled, of_rows, of_a_matrix, hidden)
}


def listed(found: Any) -> list[Any]:
    carry, stacked = found
    return [
        *(carry if isinstance(carry, tuple) else [carry]), *(stacked if isinstance(stacked, tuple) else [stacked])
    ]  # fmt: skip


def spoil_scans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Put NaN in place of what the Scan gives, so that it is seen whether a run takes it. Return what is solved."""
    solved: list[Any] = []
    outputs = linear_scans.LinearScan.outputs

    def noted(self: Any) -> Any:
        solved.append(self)
        return outputs(self)

    monkeypatch.setattr(linear_scans.LinearScan, "outputs", noted)
    plain = linear_scans.LinearScan.one_by_one

    def spoiled(self: Any) -> Any:
        return [
            linear_scans.operators.Mul(linear_scans.Array(v), np.array(np.nan, v.type.dtype)).value for v in plain(self)
        ]

    monkeypatch.setattr(linear_scans.LinearScan, "one_by_one", spoiled)
    return solved


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_linear_scan_is_the_loop(name: str, dtype: Any, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = spoil_scans(monkeypatch)
    if dtype == np.float32 and name != "filtered":
        pytest.skip("constants of these are float64")
    rates, inputs = RATES.astype(dtype), INPUTS.astype(dtype)

    def run(rates: Any, inputs: Any) -> Any:
        return listed(FUNCTIONS[name](rates, inputs, reverse=reverse))

    digits = 1e-11 if dtype == np.float64 else 1e-4
    for one, right in zip(ps.trace(run, rates, inputs)(rates, inputs), run(RATES, INPUTS), strict=True):
        np.testing.assert_allclose(one, right, rtol=digits, atol=digits)
    assert len(solved) == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_run_decides_whether_it_has_enough_steps(name: str) -> None:
    spec = ps.spec("float64", ["N"])

    def run(rates: Any, inputs: Any) -> Any:
        return listed(FUNCTIONS[name](rates, np.append(inputs, 0.4)[:-1]))

    program = ps.trace(run, spec, spec)
    for count in (1, 2, 15, 16, 33, 64, 127, 300):
        given = RATES[:count], INPUTS[:count]
        for one, right in zip(program(*given), run(*given), strict=True):
            np.testing.assert_allclose(one, right, rtol=1e-11, atol=1e-11)


def test_no_step_leaves_the_carry() -> None:
    spec = ps.spec("float64", ["N"])
    last, every = ps.trace(discounted, spec, spec)(RATES[:0], INPUTS[:0])
    assert (float(last), every.shape) == (0.5, (0,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradients_of_a_linear_scan_are_right(name: str) -> None:
    def cost(rates: Any, inputs: Any) -> Any:
        return sum(np.sum(np.sin(x)) for x in listed(FUNCTIONS[name](rates, inputs)))

    check_grads(cost, RATES[:70], INPUTS[:70], modes=("reverse", "forward"))


def test_gradients_of_what_each_step_captures_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backward pass carries their sums, too."""
    solved = spoil_scans(monkeypatch)

    def of_elements(rate: Any, gain: Any, inputs: Any) -> Any:
        last, every = ps.scan(lambda s, x: (rate * s + gain * x,) * 2, rate * 0.0, inputs)
        return np.sin(last) + np.sum(every**2)

    def of_numbers(moves: Any, inputs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            state = moves @ state + np.stack([x, x * x])
            return state, np.tanh(state)

        last, every = ps.scan(step, moves[0] * 0.0, inputs)
        return np.sum(last) + np.sum(every)

    check_grads(of_elements, 0.8, 1.1, INPUTS[:200], order=1, symbolic=False)

    def of_states(moves: Any, inputs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            state = state @ moves * (1.5 + np.tanh(x))
            return state, state

        return np.sum(np.log(ps.scan(step, np.ones(3), inputs)[1]))

    check_grads(of_numbers, np.array([[0.3, 0.5], [-0.4, 0.6]]), INPUTS[:300], order=1, symbolic=False)
    check_grads(of_states, random.uniform(0.1, 0.4, (3, 3)), INPUTS[:300].reshape(100, 3), order=1, symbolic=False)
    assert {type(s) for s in solved} == {linear_scans.OfElements, linear_scans.OfNumbers}
    assert any(s.sums for s in solved)


@pytest.mark.parametrize("steps", [100, 200])
def test_the_backward_pass_of_a_small_loop_takes_no_steps(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solved = spoil_scans(monkeypatch)

    def swinging(force: Any) -> Any:
        def step(carry: Any, f: Any) -> Any:
            angle, speed = carry
            speed = speed + 0.1 * (f - np.sin(angle))
            return (angle + 0.1 * speed, speed), angle * speed

        (angle, speed), every = ps.scan(step, (0.3, 0.0), force)
        return angle**2 + speed + np.sum(np.cos(every))

    def of_a_vector(force: Any) -> Any:
        def step(s: Any, f: Any) -> Any:
            middle = s + 0.05 * np.stack([s[1], f - np.sin(s[0])])
            return s + 0.1 * np.stack([middle[1], f - np.sin(middle[0]) - 0.1 * middle[1]]), None

        return np.sum(ps.scan(step, np.array([0.3, 0.0]), force)[0] ** 2)

    for function in (swinging, of_a_vector):
        solved.clear()
        check_grads(function, INPUTS[:steps], order=1, symbolic=False)
        assert solved


def growing(rates: Any, inputs: Any) -> Any:
    return ps.scan(lambda s, x: (x[0] * s + x[1],) * 2, 0.0, (rates, inputs))[1]


def test_products_that_overflow_leave_the_loops_values() -> None:
    rates, inputs = np.full(300, 1e3), np.where(np.arange(300) < 290, 0.0, 1.0)
    found = ps.trace(growing, rates, inputs)(rates, inputs)
    np.testing.assert_allclose(found, growing(rates, inputs), rtol=1e-14)
    slopes = ps.grad(lambda r, i: np.sum(growing(r, i)), wrt=1)(rates[-95:], inputs[-95:])
    right = np.cumsum(1e3 ** np.arange(95.0))[::-1]
    np.testing.assert_allclose(slopes, right, rtol=1e-12)


def test_what_cancels_has_the_loops_digits() -> None:
    """An unstable recurrence whose inputs keep it small."""
    right = INPUTS[:100]
    rates = np.full(100, 3.0)
    inputs = right - 3.0 * np.concatenate([[0.0], right[:-1]])
    found = ps.trace(growing, rates, inputs)(rates, inputs)
    np.testing.assert_allclose(found[:15], right[:15], rtol=1e-7)
    rest = found[1:] - (3.0 * found[:-1] + inputs[1:])
    assert np.abs(rest).max() < 1e-13 * np.abs(found).max()
    assert np.abs(rest / (np.abs(3.0 * found[:-1]) + np.abs(inputs[1:]))).max() < 1e-13


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_where_the_loop_has_them(number: float) -> None:
    inputs = INPUTS.copy()
    inputs[100] = number
    found = ps.trace(growing, RATES, inputs)(RATES, inputs)
    np.testing.assert_allclose(found, growing(RATES, inputs), rtol=1e-11)


def test_other_scans_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_scans.LinearScan, "outputs", lambda _: 1 / 0)
    for step in (
        lambda s, x: (s * s + x, s), lambda s, x: (np.maximum(s, x), s), lambda s, x: (x / (s + 2.0), s),
        lambda s, x: (np.where(s > 0, s, x), s), lambda s, x: (np.round(s) + x, s),
    ):  # fmt: skip
        program = ps.trace(lambda xs, step=step: ps.scan(step, 0.5, xs)[1], INPUTS)
        np.testing.assert_allclose(program(INPUTS), ps.scan(step, 0.5, INPUTS)[1])


def test_steps_that_draw_numbers_or_loop_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_scans.LinearScan, "outputs", lambda _: 1 / 0)

    def halved(x: Any) -> Any:
        return ps.while_loop(lambda v: np.abs(v) > 0.5, lambda v: 0.5 * v, x)

    steps: list[Callable[..., Any]] = [
        lambda s, x: (0.5 * s + op.RandomNormalLike(x), s),
        lambda s, x: (0.5 * s + op.RandomNormal(shape=[1], dtype=np.float64)[0], s),
        lambda s, x: (0.5 * s + halved(x), s),
        lambda s, x: (0.5 * s + ps.cond(x > 0, np.sqrt, lambda v: v, x), s),
    ]
    for step in steps:
        found = ps.trace(lambda xs, step=step: ps.scan(step, 0.5, xs)[1], INPUTS)(INPUTS)
        assert np.isfinite(found).all()
        assert len(np.unique(found)) > 200


def test_a_scan_of_unknown_length_in_a_loop_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = spoil_scans(monkeypatch)

    def run(xs: Any, rows: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            return np.sin(carry) + ps.scan(lambda s, y: (0.5 * s + x * y, None), 0.1, rows)[0], carry

        return ps.scan(step, 0.3, xs)[1]

    ps.trace(run, INPUTS[:5], ps.spec("float64", ["N"])).session()
    assert not solved
    found = ps.trace(run, INPUTS[:5], INPUTS)(INPUTS[:5], INPUTS)
    assert solved
    np.testing.assert_allclose(found, run(INPUTS[:5], INPUTS), rtol=1e-12)


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "a quotient": lambda c, v: (c / v, c),
    "a difference": lambda c, v: (v - c, c),
    "a negative": lambda c, v: (-c + v, c),
    "a sum with itself": lambda c, v: ((c + c) * (0.5 * v), c),
    "a negative quotient": lambda c, v: (-(c / v), c),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", STEPS)
def test_a_carry_itself_may_be_divided_negated_and_added(name: str, dtype: type) -> None:
    x = np.linspace(0.99, 1.01, 300).astype(dtype)
    made = ps.value_and_grad(lambda x: np.sum(ps.scan(STEPS[name], x[0], x)[1]))(x)[0]
    carry, total = x[0].astype(np.float64), 0.0
    for v in x.astype(np.float64):
        carry, shown = STEPS[name](carry, v)
        total += shown
    close = 1e-4 if dtype is np.float32 else 1e-11
    np.testing.assert_allclose(made, total, rtol=close, atol=close)


@pytest.mark.parametrize("name", ["directions", "step"])
def test_what_a_step_is_called_changes_nothing(name: str) -> None:
    def total(rates: Any) -> Any:
        def step(s: Any, x: Any) -> Any:
            return (0.95 * s + x,) * 2

        step.__name__ = name
        return np.sum(ps.scan(step, 0.5, rates)[1])

    model = ps.split(total, ps.spec("float64", [300])).joint().to_onnx()
    assert "Scan" not in {node.op_type for node in model.graph.node}
