"""Cotangents of long loops: 0 close to the smallest normal number, and only there."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing import check_grads

TINY = np.finfo(np.float32).tiny
HALF, START = np.full(64, 0.5, np.float32), np.ones(64, np.float32)


def forgetting(h: Any, xs: Any) -> Any:
    return np.sum(ps.scan(lambda h, x: (HALF * h + x, None), h, xs)[0])


def inputs(steps: int, width: int = 64) -> Any:
    return np.ones((steps, width), np.float32)


@pytest.mark.parametrize(("power", "above"), [(0, 20), (-26, 20), (-36, 10), (-46, 0)])
def test_a_cotangent_close_to_the_smallest_normal_number_is_0_and_any_other_is_kept(power: int, above: int) -> None:
    """The result's 64 cotangents add up to 2^(power + 6); 0 is what is below 2^-86 of it, from 2^-126 to 2^-106."""
    slopes = ps.grad(lambda xs: np.float32(2.0**power) * forgetting(START, xs))(inputs(160))
    right = np.ldexp(1.0, power - np.arange(160))[::-1]
    np.testing.assert_array_equal(slopes, np.where(right < TINY * 2.0**above, 0.0, right)[:, None] * np.ones(64))


def test_a_loop_whose_steps_add_no_cotangents_is_long_from_32_steps_on() -> None:
    slopes = ps.grad(lambda xs: np.sum(ps.scan(lambda h, x: (HALF / 8 * h + x, None), START, xs)[0]))(inputs(32))
    assert not slopes[:5].any()
    np.testing.assert_array_equal(slopes[5:, 0], np.ldexp(1.0, -4 * np.arange(27))[::-1])


def test_a_step_of_a_recurrence_that_forgets_has_no_denormal_products() -> None:
    """Half of a carry is kept, and 1e-5 of it is the gradient of an input: none of them is below 1e-37."""

    def f(xs: Any) -> Any:
        return np.sum(ps.scan(lambda h, x: (HALF * h + np.float32(1e-5) * x, None), START, xs)[0])

    slopes = ps.grad(f)(inputs(160))
    assert not slopes[:40].any()
    assert slopes[slopes > 0].min() > TINY


@pytest.mark.parametrize("scale", [2.0**-50, 2.0**-100])
def test_denormal_cotangents_of_a_function_of_small_values_are_kept(scale: float) -> None:
    slopes = ps.grad(lambda xs: np.float32(scale) * forgetting(START, xs))(inputs(140))
    right = np.ldexp(np.float32(scale), -np.arange(140))[::-1]
    assert np.count_nonzero((right > 0) & (right < TINY)) > 20
    np.testing.assert_array_equal(slopes, right[:, None] * np.ones(64))


def test_denormal_cotangents_are_kept_where_one_of_two_results_has_small_values() -> None:
    def mixed(xs: Any) -> Any:
        last, every = ps.scan(lambda h, x: (HALF * h + x, h), START, xs)
        return np.float32(2.0**-100) * np.sum(last) + np.sum(every[:2])

    slopes = ps.grad(mixed)(inputs(140))
    np.testing.assert_array_equal(slopes[100], np.full(64, np.ldexp(np.float32(1.0), -139)))


def test_denormal_cotangents_of_short_loops_and_small_carries_are_kept() -> None:
    short = ps.grad(lambda xs: np.sum(ps.scan(lambda h, x: (HALF / 16 * h + x, None), START, xs)[0]))(inputs(28))
    assert short[0, 0] == np.ldexp(1.0, -135)

    def last(xs: Any) -> Any:
        return np.sum(ps.scan(lambda h, x: (HALF * h + x,) * 2, START, xs)[1][-1])

    assert ps.grad(lambda xs: np.float32(2.0**-40) * last(xs))(inputs(100))[0, 0] == np.ldexp(1.0, -139)

    def small(xs: Any) -> Any:
        return np.sum(ps.scan(lambda h, x: (np.float32(0.5) * h + x, None), START[:3], xs)[0])

    assert ps.grad(small)(inputs(140, 3))[0, 0] == np.ldexp(1.0, -139)


def test_nan_stays_in_the_cotangent_of_a_long_loop() -> None:
    half = HALF.copy()
    half[3] = np.nan
    slopes = ps.grad(lambda h: np.sum(ps.scan(lambda h, x: (half * h + x, None), h, inputs(150))[0]))(START)
    assert np.isnan(slopes[3])
    assert not np.isnan(np.delete(slopes, 3)).any()


def test_derivatives_of_a_loop_of_any_length_are_right() -> None:
    """In each mode, twice, and of a batch."""

    def bent(a: Any, xs: Any) -> Any:
        last, every = ps.scan(lambda h, x: (np.tanh(a * h + x),) * 2, np.zeros(64), xs)
        return np.sum(last) + np.sum(every)

    a, xs = np.linspace(-1.0, 1.0, 64), np.linspace(-1.0, 1.0, 192).reshape(3, 64)
    check_grads(bent, a, xs, modes=("reverse", "forward"))
    slopes = ps.vmap(ps.grad(bent), in_axes=(0, None))(np.stack([a, 2 * a]), xs)
    np.testing.assert_allclose(slopes[1], ps.grad(bent)(2 * a, xs), rtol=1e-12)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_cotangents_of_recurrent_layers_are_0_below_the_normal_numbers(kind: str) -> None:
    """Gates that are half open, as all weights of the state are 0.1, forget what is long ago."""
    gates, hidden, steps = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 8, 400
    weight = 0.06 if kind == "RNN" else 0.01
    w, r = np.full((1, gates * hidden, 1), 0.1, np.float32), np.full((1, gates * hidden, hidden), weight, np.float32)

    def last(xs: Any, w: Any, r: Any) -> Any:
        return np.sum(getattr(op, kind)(xs, w, r, hidden_size=hidden, outputs=2)[1])

    def slopes(scale: float) -> Any:
        return ps.grad(lambda xs: np.float32(scale) * last(xs, w, r))(np.ones((steps, 8, 1), np.float32))

    plain, small = slopes(1.0), slopes(2.0**-64)
    assert np.count_nonzero((np.abs(small) > 0) & (np.abs(small) < TINY))
    flushed = plain[np.abs(plain) < TINY]
    assert not flushed.any()
    np.testing.assert_allclose(plain[-60:] * np.float32(2.0**-64), small[-60:], rtol=1e-5)
