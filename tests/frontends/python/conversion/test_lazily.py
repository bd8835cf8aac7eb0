"""`any` and `all` of what is computed as they go: they end at the first that decides, where that is seen."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.tracing.branching import exploring, paths

rng = np.random.default_rng(3)


class Meter:
    def __init__(self):
        self.calls = 0

    def is_over(self, value):
        self.calls += 1
        return value > 0.8


def calls_a_method_that_counts(x):
    meter, total = Meter(), 0.0
    for k in range(9):
        total += x[k] * meter.calls if any(meter.is_over(v) for v in x[k : k + 3]) else -x[k]
    return total


def maps_a_method_that_counts(x):
    meter, total = Meter(), 0.0
    for k in range(9):
        total += x[k] * meter.calls if any(map(meter.is_over, x[k : k + 3])) else -x[k]
    return total


def all_before_a_branch(x):
    meter, total = Meter(), 0.0
    for k in range(9):
        are_over = all(meter.is_over(-v) for v in x[k : k + 3])
        total += x[k] * meter.calls if are_over else -x[k]
    return total


def of_a_generator(x):
    seen, total = [], 0.0

    def are_over(k):
        for value in x[k : k + 3]:
            seen.append(value)
            yield value > 0.8

    for k in range(9):
        total += x[k] * len(seen) if any(are_over(k)) else -x[k]
    return total


def names_what_it_found(x):
    total = 0.0
    for k in range(9):
        last = 0.0
        total += x[k] * last if any((last := v) > 0.8 for v in x[k : k + 3]) else -last
    return total


def goes_on_with_an_iterator(x):
    left, total = iter(x), 0.0
    for k in range(4):
        total += x[k] if any(v > 0.8 for v in left) else -x[k]
        for value in left:
            total += value
            break
    return total


def goes_on_with_a_generator(x):
    are_over, total = (v > 0.8 for v in x), 0.0
    for k in range(9):
        total += x[k] if any(are_over) else -x[k]
    return total


def goes_on_with_pairs(x):
    left, total = zip(x[1:], x[:-1], strict=True), 0.0
    for k in range(9):
        total += x[k] if all(a < b for a, b in left) else -x[k]
    return total


def at_steps(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The function where few paths are too many."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    return ps.value_and_grad(function)


@pytest.mark.parametrize(
    "function",
    [
        calls_a_method_that_counts, maps_a_method_that_counts, all_before_a_branch, of_a_generator, names_what_it_found,
        goes_on_with_an_iterator, goes_on_with_a_generator, goes_on_with_pairs,
    ],
)  # fmt: skip
def test_what_python_does_not_come_to_is_not_seen(function: Callable[..., Any], monkeypatch) -> None:
    both = at_steps(function, monkeypatch)
    for x in rng.normal(size=(10, 12)):
        try:
            value, _ = both(x)
        except ConcretizationError:
            return
        np.testing.assert_allclose(value, function(x), rtol=1e-12)


def is_near(a, b):
    return abs(a - b) < 0.6


def is_large(value):
    return value > 1


def of_what_only_computes(x):
    total = 0.0
    for k in range(9):
        if any(is_near(v, x[k]) for v in x[k + 1 : k + 3]):
            total += x[k]
        elif all(a < b for a, b in zip(x[k : k + 2], x[k + 1 : k + 3], strict=True)):
            total += 2 * x[k] ** 2
        elif any(map(is_large, x[2:5])):
            total += 3 * x[k]
        elif any(a > b + n for n, a in enumerate(x[:3]) for b in x[3:5]):
            total -= x[k] ** 3
    return total


def test_what_only_computes_is_one_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    both = at_steps(of_what_only_computes, monkeypatch)
    for x in rng.normal(size=(20, 12)):
        value, gradient = both(x)
        np.testing.assert_allclose(value, of_what_only_computes(x), rtol=1e-12)
        steps = 1e-6 * np.eye(12)
        slopes = [(of_what_only_computes(x + h) - of_what_only_computes(x - h)) / 2e-6 for h in steps]
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)
