"""What the gradient files of three networks hold at their peak, as onnxruntime plans it: counted, not measured.

The bounds are in multiples of an activation. They are the present counts, to be lowered; a growth has a reason or is a
fault.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tools.bench import convnet, lifetimes, transformer


def peak(made: Any, folder: Path, *, is_held: bool = True) -> int:
    """The most bytes that are taken at once, inputs aside."""
    nodes, results = lifetimes.profiled(made.joint().to_onnx().SerializeToString(), folder)
    totals, _ = lifetimes.timeline(nodes, results, is_held=is_held)
    return int(max(totals))


def test_a_transformer_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(transformer, "WIDTH", 128)
    params, data = transformer.data()
    made = ps.split(transformer.in_numpy, params, *data.values(), wrt="p")
    found = peak(made, tmp_path)
    assert found / data["x"].nbytes < 26.0


def test_a_convolutional_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(convnet, "BATCH", 8)
    params, data = convnet.data()
    made = ps.split(convnet.in_numpy, params, *data.values(), wrt="p")
    first = 4 * 8 * 16 * 32 * 32
    assert peak(made, tmp_path) / first < 4.0


def test_a_perceptron_of_wide_layers_holds_its_gradients_and_two_activations(tmp_path: Path) -> None:
    """Each gradient is 16 activations: with those of the last layers first, three would lie beside the cotangents."""

    def loss(weights: Any, x: Any) -> Any:
        for w in weights:
            x = np.tanh(x @ w)
        return np.mean(x * x)

    random = np.random.default_rng(0)
    weights = [random.standard_normal((256, 256)).astype(np.float32) / 16 for _ in range(3)]
    x = random.standard_normal((16, 256)).astype(np.float32)
    made = ps.split(loss, weights, x, wrt="weights")
    assert peak(made, tmp_path) / x.nbytes < 3 * 16 + 4


def test_memory_that_is_held_for_a_later_value_counts() -> None:
    """Two arrays of one shape, the second after the first is read: one piece, there all the time in between."""
    shape = (4, 8)
    nodes = [
        lifetimes.Node("Neg", ("x",), ("a",), (32,), (shape,)),
        lifetimes.Node("ReduceSum", ("a",), ("b",), (4,), ((4, 1),)),
        lifetimes.Node("Exp", ("b",), ("c",), (4,), ((4, 1),)),
        lifetimes.Node("Expand", ("c",), ("d",), (32,), (shape,)),
        lifetimes.Node("ReduceMax", ("d",), ("y",), (4,), ((4, 1),)),
    ]
    held, _ = lifetimes.timeline(nodes, ["y"])
    needed, _ = lifetimes.timeline(nodes, ["y"], is_held=False)
    assert held == [32, 36, 40, 36, 36]
    assert needed == [32, 36, 8, 36, 36]
