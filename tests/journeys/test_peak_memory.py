"""The bytes that the gradient files of three networks hold at their peak, by onnxruntime's plan: counted, not measured.

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


def deep(weights: Any, x: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w)
    return np.sum(x)


def residual(weights: Any, x: Any) -> Any:
    for w in weights:
        x = x + np.tanh(x @ w)
    return np.sum(np.exp(-x))


def two_widths(weights: Any, x: Any) -> Any:
    for w in weights:
        x = np.maximum(np.tanh(x @ w) @ w.T, 0.1 * x)
    return np.sum(x * x)


@pytest.mark.parametrize("loss", [deep, residual, two_widths])
def test_the_policy_nothing_holds_less_in_one_file_of_both_passes(loss: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    weights = [random.standard_normal((16, 16)).astype(np.float32) / 4 for _ in range(24)]
    x = random.standard_normal((512, 16)).astype(np.float32)
    usual, nothing = (ps.split(loss, weights, x, wrt="weights", policy=p) for p in ("default", "nothing"))
    assert {row["kind"] for row in nothing.capture_table()} <= {"input", "output"}
    ratio = peak(nothing, tmp_path) / peak(usual, tmp_path)
    assert ratio < 0.6
    for found, wanted in zip(nothing.joint()(*weights, x), usual.joint()(*weights, x), strict=True):
        np.testing.assert_array_equal(found, wanted)


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
