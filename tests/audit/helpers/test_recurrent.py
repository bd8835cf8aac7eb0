"""Recurrent layers beside the standard's reference."""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from primsplit.audit.helpers.recurrent import activation, gru_cell, lstm_cell, recurrent, rnn_cell

CELLS = {
    "RNN": (rnn_cell, ["Tanh"], 1, 1),
    "GRU": (gru_cell, ["Sigmoid", "Tanh"], 3, 1),
    "LSTM": (lstm_cell, ["Sigmoid", "Tanh", "Tanh"], 4, 2),
}


@pytest.mark.parametrize("kind", CELLS)
def test_a_layer_computes_what_the_reference_computes(kind: str) -> None:
    cell, functions, gates, states = CELLS[kind]
    random = np.random.default_rng(0)
    shapes = {"x": (5, 2, 3), "w": (1, 4 * gates, 3), "r": (1, 4 * gates, 4), "b": (1, 8 * gates)}
    given: dict[str, Any] = {n: random.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    names = ["y", "h", "c"][: states + 1]
    node = helper.make_node(kind, [*given], names, hidden_size=4)
    ends = [helper.make_tensor_value_info(n, 1, s) for n, s in shapes.items()]
    graph = helper.make_graph([node], "g", ends, [helper.make_tensor_value_info(n, 1, None) for n in names])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    expected = ReferenceEvaluator(model).run(None, given)
    found = recurrent(cell, *given.values(), None, *[None] * states, activations=functions)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_short_sequences_end_early_and_begin_at_their_end_when_reversed() -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2, 1)
    w, r = np.ones((1, 1, 1), np.float32), np.ones((1, 1, 1), np.float32)
    given: Any = (rnn_cell, x, w, r, None, np.array([3, 1]), None)
    y, last = recurrent(*given, activations=[("Affine", 1.0, 0.0)])
    np.testing.assert_array_equal(y[:, 0, :, 0], [[0, 1], [2, 0], [6, 0]])
    np.testing.assert_array_equal(last[0, :, 0], [6, 1])
    y, last = recurrent(*given, direction="reverse", activations=[("Affine", 1.0, 0.0)])
    np.testing.assert_array_equal(y[:, 0, :, 0], [[6, 1], [6, 0], [4, 0]])


def test_a_sequence_without_steps_ends_in_zeros() -> None:
    x, w = np.ones((2, 2, 1), np.float32), np.ones((1, 1, 1), np.float32)
    _, last = recurrent(rnn_cell, x, w, w, None, np.array([0, 2]), w, activations=["Relu"])
    np.testing.assert_array_equal(last[0, :, 0], [0, 3])


def test_activations_have_the_standards_numbers() -> None:
    x = np.array([-1.0, 0.5])
    np.testing.assert_allclose(activation("HardSigmoid", 0.2, 0.5)(x), [0.3, 0.6])
    np.testing.assert_allclose(activation("LeakyRelu", 0.5)(x), [-0.5, 0.5])
