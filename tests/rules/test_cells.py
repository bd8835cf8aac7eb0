"""Backward passes of recurrent cells: lengths, no steps, second derivatives, and slopes by differences."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.recurrent import recurrent
from tests.rules.layers import FROM, GATES, H, layer, sample, specs, weights


def sequences(kind: str) -> list[Any]:
    """x [5, 2, FROM], W, R and B, float64."""
    return [a.astype(np.float64) for a in (sample(5, 2, FROM), *weights(kind, 2))]


def total(kind: str, lengths: list[int] | None) -> Any:
    """A sum of the results of a bidirectional layer, of x, W, R and B."""
    count = 3 if kind == "LSTM" else 2
    given = None if lengths is None else np.array(lengths, np.int32)

    def f(*arrays: Any) -> Any:
        found = getattr(op, kind)(*arrays, given, outputs=count, hidden_size=H, direction="bidirectional")
        return sum((part * part).sum() for part in found)

    return f


@pytest.mark.parametrize("kind", GATES)
def test_sequences_of_lengths_are_sequences_cut_there_whatever_lies_beyond(kind: str) -> None:
    x, *rest = sequences(kind)
    dirty = x.copy()
    dirty[3:, 0] = np.nan
    found = ps.grad(total(kind, [3, 5]), wrt=(0, 1, 2, 3))(dirty, *rest)
    parts = [ps.grad(total(kind, None), wrt=(0, 1, 2, 3))(x[:n, [i]], *rest) for i, n in ((0, 3), (1, 5))]
    np.testing.assert_allclose(found[0][:3, :1], parts[0][0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found[0][:, 1:], parts[1][0], rtol=1e-10, atol=1e-13)
    np.testing.assert_array_equal(found[0][3:, 0], 0)
    for gradient, one, other in zip(found[1:], parts[0][1:], parts[1][1:], strict=True):
        np.testing.assert_allclose(gradient, one + other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kind", GATES)
def test_a_second_derivative_is_that_of_the_first_ones_differences(kind: str) -> None:
    x, *rest = sequences(kind)
    first = ps.grad(total(kind, [3, 5]))
    direction = np.random.default_rng(1).standard_normal(x.shape)
    found = ps.grad(lambda x: (ps.grad(lambda x: total(kind, [3, 5])(x, *rest))(x) * direction).sum())(x)
    ahead, behind = (first(x + step * direction, *rest) for step in (1e-4, -1e-4))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-4, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", GATES)
def test_a_sequence_of_no_steps_gives_0_as_one_of_length_0_does(kind: str) -> None:
    arrays = [sample(0, 2, FROM), *weights(kind, 1), *[sample(1, 2, H)] * (2 if kind == "LSTM" else 1)]
    arrays = [a.astype(np.float64) for a in arrays]
    joint = ps.split(layer(kind), *specs(kind, 1, "float64")).joint()
    seeds = [np.zeros((0, 1, 2, H)), *[sample(1, 2, H).astype(np.float64)] * (len(arrays) - 4)]
    y, *found = joint(*arrays, *seeds)
    assert y.shape == (0, 1, 2, H)
    states = len(arrays) - 4
    for value in (*found[:states], *found[states + 1 :]):
        assert value.size
        np.testing.assert_array_equal(value, np.zeros(value.shape))


FORMS: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}),
    ("RNN", {"activations": ["Softplus"]}),
    ("GRU", {}),
    ("GRU", {"linear_before_reset": 1}),
    ("LSTM", {}),
    ("LSTM", {"input_forget": 1}),
]


@pytest.mark.parametrize(("kind", "attributes"), FORMS, ids=str)
def test_every_cotangent_is_the_slope_of_the_equations(kind: str, attributes: dict[str, Any]) -> None:
    """By the sequence, all weights, the states and the peepholes, of a sequence of 3 and one of 2 steps."""
    lengths, states = np.array([3, 2], np.int32), 2 if kind == "LSTM" else 1
    arrays = [a.astype("d") for a in (sample(3, 2, FROM), *weights(kind, 1), *[sample(1, 2, H)] * states)]
    arrays += [sample(1, 3 * H).astype("d")] * (kind == "LSTM")

    def total(*given: Any) -> Any:
        x, w, r, b, *rest = given
        made = getattr(op, kind)(x, w, r, b, lengths, *rest, outputs=1 + states, hidden_size=H, **attributes)
        return sum((part**2).sum() for part in made)

    def written(*given: Any) -> Any:
        x, w, r, b, *rest = given
        return sum((part**2).sum() for part in recurrent(kind, x, w, r, b, lengths, *rest, **attributes))

    found = ps.split(total, *arrays, wrt=tuple(range(len(arrays)))).joint()(*arrays)
    np.testing.assert_allclose(found[0], written(*arrays), rtol=1e-12)
    for i, gradient in enumerate(found[1:]):
        along = np.random.default_rng(i).standard_normal(arrays[i].shape)
        ahead, behind = (written(*arrays[:i], arrays[i] + step * along, *arrays[i + 1 :]) for step in (1e-5, -1e-5))
        np.testing.assert_allclose(np.sum(gradient * along), (ahead - behind) / 2e-5, rtol=1e-7, atol=1e-9)
