"""ONNX's recurrent layers in NumPy: onnxruntime's results, and the equation of a step."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.recurrent import SEQUENCES, recurrent

random = np.random.default_rng(0)
STEPS, BATCH, FEATURES, HIDDEN = 4, 2, 3, 5
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "RNN": ("RNN", {}),
    "RNN backwards": ("RNN", {"direction": "reverse"}),
    "RNN both ways": ("RNN", {"direction": "bidirectional", "activations": ["Relu", "Tanh"]}),
    "RNN clipped": ("RNN", {"clip": 0.3}),
    "GRU": ("GRU", {}),
    "GRU, linear first": ("GRU", {"linear_before_reset": 1}),
    "GRU both ways": ("GRU", {"direction": "bidirectional"}),
    "LSTM": ("LSTM", {}),
    "LSTM backwards": ("LSTM", {"direction": "reverse"}),
    "LSTM clipped": ("LSTM", {"clip": 0.4}),
    "LSTM of other activations": ("LSTM", {"activations": ["HardSigmoid", "Softsign", "Tanh"]}),
}


@pytest.mark.parametrize("lengths", [None, [4, 2]], ids=["whole", "cut"])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_layer_is_onnxruntimes(name: str, lengths: list[int] | None) -> None:
    kind, options = OPTIONS[name]
    ways = 2 if options.get("direction") == "bidirectional" else 1
    w, r, b = (
        random.uniform(-0.8, 0.8, (ways, *shape)).astype(np.float32)
        for shape in ((GATES[kind] * HIDDEN, FEATURES), (GATES[kind] * HIDDEN, HIDDEN), (2 * GATES[kind] * HIDDEN,))
    )
    x = random.standard_normal((STEPS, BATCH, FEATURES)).astype(np.float32)
    cut = None if lengths is None else np.array(lengths, np.int32)
    named = {**options, "activations": options["activations"] * ways if len(options.get("activations", ())) == 1 else
             options.get("activations")}  # fmt: skip
    named = {k: v for k, v in named.items() if v is not None}
    count = 3 if kind == "LSTM" else 2

    def layer(*given: Any) -> Any:
        lens = [] if cut is None else [cut]
        return getattr(op, kind)(*given, *lens, hidden_size=HIDDEN, outputs=count, **named)

    wanted = ps.trace(layer, x, w, r, b)(x, w, r, b)
    found = recurrent(kind, x, w, r, b, cut, hidden_size=HIDDEN, **named)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(SEQUENCES[kind](x, w, r, b, cut, hidden_size=HIDDEN, **named), found[0])


def test_a_step_of_an_rnn_is_its_equation() -> None:
    """h = tanh(W x + R h + Wb + Rb), from a start."""
    w, r, b = np.array([[[0.5]]]), np.array([[[-0.25]]]), np.array([[0.1, 0.2]])
    start = np.array([[[0.4]]])
    y, last = recurrent("RNN", np.array([[[2.0]], [[-1.0]]]), w, r, b, None, start, hidden_size=1)
    first = np.tanh(0.5 * 2 - 0.25 * 0.4 + 0.3)
    second = np.tanh(-0.5 - 0.25 * first + 0.3)
    np.testing.assert_allclose(np.ravel(y), [first, second], rtol=1e-15)
    np.testing.assert_allclose(np.ravel(last), [second], rtol=1e-15)
