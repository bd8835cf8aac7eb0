"""Scans that are linear in a few small carries: the loop's values and right gradients, without a step for each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
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


FUNCTIONS: dict[str, Callable[..., Any]] = {f.__name__: f for f in (discounted, filtered, coupled, of_rows)}


def listed(found: Any) -> list[Any]:
    carry, stacked = found
    return [
        *(carry if isinstance(carry, tuple) else [carry]), *(stacked if isinstance(stacked, tuple) else [stacked])
    ]  # fmt: skip


def spoil_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put NaN in place of what the Scan gives, so that it is seen whether a run takes it."""
    plain = linear_scans._LinearScan.one_by_one

    def spoiled(self: Any) -> Any:
        return [
            linear_scans.operators.Mul(linear_scans.Array(v), np.array(np.nan, v.type.dtype)).value for v in plain(self)
        ]

    monkeypatch.setattr(linear_scans._LinearScan, "one_by_one", spoiled)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_linear_scan_is_the_loop(name: str, dtype: Any, reverse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil_scans(monkeypatch)
    if dtype == np.float32 and name != "filtered":
        pytest.skip("constants of these are float64")
    rates, inputs = RATES.astype(dtype), INPUTS.astype(dtype)

    def run(rates: Any, inputs: Any) -> Any:
        return listed(FUNCTIONS[name](rates, inputs, reverse=reverse))

    digits = 1e-11 if dtype == np.float64 else 1e-4
    for one, right in zip(ps.trace(run, rates, inputs)(rates, inputs), run(RATES, INPUTS), strict=True):
        np.testing.assert_allclose(one, right, rtol=digits, atol=digits)


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


@pytest.mark.parametrize("steps", [50, 200])
def test_the_backward_pass_of_a_small_loop_takes_no_steps(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil_scans(monkeypatch)

    def swinging(force: Any) -> Any:
        def step(carry: Any, f: Any) -> Any:
            angle, speed = carry
            speed = speed + 0.1 * (f - np.sin(angle))
            return (angle + 0.1 * speed, speed), angle * speed

        (angle, speed), every = ps.scan(step, (0.3, 0.0), force)
        return angle**2 + speed + np.sum(np.cos(every))

    check_grads(swinging, INPUTS[:steps], order=1, symbolic=False)


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
    monkeypatch.setattr(linear_scans._LinearScan, "outputs", lambda _: 1 / 0)
    for step in (
        lambda s, x: (s * s + x, s), lambda s, x: (np.maximum(s, x), s), lambda s, x: (x / (s + 2.0), s),
        lambda s, x: (np.where(s > 0, s, x), s), lambda s, x: (np.round(s) + x, s),
    ):  # fmt: skip
        program = ps.trace(lambda xs, step=step: ps.scan(step, 0.5, xs)[1], INPUTS)
        np.testing.assert_allclose(program(INPUTS), ps.scan(step, 0.5, INPUTS)[1])
