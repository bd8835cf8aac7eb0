"""Recurrent layers in float64, written as Scans."""

from typing import Any

import numpy as np
import pytest

from tests.rewrites.decompositions.reference import check, numbers, written

STEPS, BATCH, FROM, H = 4, 2, 3, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def inputs(kind: str, directions: int = 1) -> list[Any]:
    """The sequence, the weights and the biases of a layer."""
    rows = GATES[kind] * H
    shapes = [(STEPS, BATCH, FROM), (directions, rows, FROM), (directions, rows, H), (directions, 2 * rows)]
    return [0.5 * numbers(*shape, seed=i) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_a_layer_gives_what_the_reference_gives(kind: str, symbolic: bool) -> None:
    check(kind, *inputs(kind), outputs=2, hidden_size=H, symbolic=symbolic)


@pytest.mark.parametrize("linear", [0, 1])
def test_the_reset_gate_of_a_gru_acts_before_or_after_the_product(linear: int) -> None:
    check("GRU", *inputs("GRU"), outputs=2, hidden_size=H, linear_before_reset=linear)


def test_a_layer_starts_from_its_states_and_its_cells_see_through_peepholes() -> None:
    states = [0.3 * numbers(1, BATCH, H, seed=7), 0.3 * numbers(1, BATCH, H, seed=8)]
    peepholes = 0.3 * numbers(1, 3 * H, seed=9)
    check("LSTM", *inputs("LSTM"), None, *states, peepholes, outputs=2, hidden_size=H)


def test_a_reversed_layer_is_the_layer_of_the_reversed_sequence() -> None:
    x, *weights = inputs("LSTM")
    forward = written("LSTM", x, *weights, outputs=3, hidden_size=H)(x[::-1].copy(), *weights)
    backward = written("LSTM", x, *weights, outputs=3, hidden_size=H, direction="reverse")(x, *weights)
    np.testing.assert_allclose(backward[0], forward[0][::-1], rtol=1e-13)
    for one, other in zip(backward[1:], forward[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
