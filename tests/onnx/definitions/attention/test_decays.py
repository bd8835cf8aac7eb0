"""Decays between the positions of a sequence: those of the steps in between, one for all features or one for each."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.onnx.definitions.attention.decays import decays_between

RNG = np.random.default_rng(2)
KEYS, X = RNG.standard_normal((1, 2, 4, 3)), RNG.standard_normal((1, 2, 4, 3))
EACH = -RNG.uniform(0.1, 2.0, (1, 2, 4, 3))
DECAYS = {"none": None, "one": EACH[..., :1], "for each feature": EACH}


def between(decay: Any, t: int, s: int) -> Any:
    """The decay from step s to step t: that of all steps after s up to t."""
    return 1.0 if decay is None else np.exp(decay[:, :, s + 1 : t + 1].sum(axis=2))


def traced(decay: Any, function: Any) -> Any:
    if decay is None:
        return ps.trace(lambda k, x: function(decays_between(None, k), x), KEYS, X)(KEYS, X)
    return ps.trace(lambda g, k, x: function(decays_between(g, k), x), decay, KEYS, X)(decay, KEYS, X)


@pytest.mark.parametrize("name", DECAYS)
def test_products_of_a_step_and_the_keys_before_it_decay_in_between(name: str) -> None:
    decay = DECAYS[name]
    wanted = np.zeros((1, 2, 4, 4))
    for t in range(4):
        for s in range(t + 1):
            wanted[:, :, t, s] = np.sum(X[:, :, t] * between(decay, t, s) * KEYS[:, :, s], axis=-1)
    np.testing.assert_allclose(traced(decay, lambda d, x: d.products(x)), wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", DECAYS)
def test_decays_from_the_start_to_the_end_and_all_along(name: str) -> None:
    decay = DECAYS[name]
    start, end, along = traced(
        decay, lambda d, x: (d.since_start(x), d.until_end(x), d.all_along(np.swapaxes(x, 2, 3)))
    )
    for t in range(4):
        np.testing.assert_allclose(start[:, :, t], X[:, :, t] * between(decay, t, -1), rtol=1e-12)
        np.testing.assert_allclose(end[:, :, t], X[:, :, t] * between(decay, 3, t), rtol=1e-12)
    whole = between(decay, 3, -1)
    np.testing.assert_allclose(along, np.swapaxes(X, 2, 3) * (whole if decay is None else whole[..., None]), rtol=1e-12)


def test_a_decay_of_minus_infinity_forgets_what_was_before_it_alone() -> None:
    decay = EACH.copy()
    decay[:, :, 2] = -np.inf
    found = traced(decay, lambda d, x: d.products(x))
    np.testing.assert_array_equal(found[:, :, 2:, :2], 0.0)
    assert np.all(found[:, :, 2, 2] != 0)
    assert np.isfinite(found).all()
