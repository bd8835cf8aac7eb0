"""DynamicQuantizeLSTM is what onnxruntime's kernel computes in one thread; its gradient is nearly that of the LSTM."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.ops import op
from tests.onnx.definitions.kernels import Node

rng = np.random.default_rng(2)
STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 5, 6
LEVELS = {np.int8: (-64, 65), np.uint8: (1, 255)}
"""On processors without VNNI onnxruntime's kernel sums pairs of products of uint8 and int8 in 16 bits, which saturate:
of int8 only weights of seven bits have the same value everywhere."""


def draw(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32) * np.float32(0.5)


def node(
    direction: str = "forward", *, dtype: Any = np.int8, by_column: bool = False, bare: bool = False, **attributes: Any
) -> Node:
    ways = 2 if direction == "bidirectional" else 1
    low, high = LEVELS[dtype]
    weights, recurrence = (
        rng.integers(low, high, (ways, rows, 4 * HIDDEN)).astype(dtype) for rows in (FEATURES, HIDDEN)
    )
    shape = (ways, 4 * HIDDEN) if by_column else (ways,)
    scales = [rng.uniform(0.004, 0.01, shape).astype(np.float32) for _ in range(2)]
    zero = np.full(shape, 128 if dtype == np.uint8 else 0, dtype)
    states = [None, None] if bare else [draw(ways, BATCH, HIDDEN) for _ in range(2)]
    bias = None if bare else draw(ways, 8 * HIDDEN)
    inputs = [draw(STEPS, BATCH, FEATURES), weights, recurrence, bias, None, *states, None]
    inputs += [scales[0], zero, scales[1], zero]
    fixed = frozenset(i for i in (1, 2, 3, 8, 9, 10, 11) if inputs[i] is not None)
    how = {"hidden_size": HIDDEN, "direction": direction, **attributes}
    kind = "com.microsoft::DynamicQuantizeLSTM"
    return Node(
        kind, inputs, how, ("float32",) * 3, constant=fixed, ranks=[4, 3, 3], declared={0: ["T", BATCH, FEATURES]}
    )


CASES = {
    "forward": node(),
    "a scale a column": node(by_column=True),
    "numbers without a sign": node(dtype=np.uint8),
    "backward, from nothing": node("reverse", bare=True),
    "both ways": node("bidirectional"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_kernels_in_one_thread(name: str, tmp_path: Path) -> None:
    given = CASES[name]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    expected = onnxruntime.InferenceSession(given.save(tmp_path / "kernel.onnx"), options).run(None, given.fed())
    found = ps.load(given.save(tmp_path / "node.onnx"))(*given.fed().values())
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_gradient_is_nearly_that_of_the_layer_in_floats(name: str, tmp_path: Path) -> None:
    given = CASES[name]
    _, weights, recurrence, bias, _, h, c, _, scale, zero, recurrence_scale, _ = given.inputs

    def numbers(integers: Any, scales: Any) -> Any:
        shape = (len(integers), 1, -1)
        floats = (integers.astype(np.float32) - zero.astype(np.float32).reshape(shape)) * scales.reshape(shape)
        return floats.transpose(0, 2, 1)

    def layer(x: Any) -> Any:
        first, second = numbers(weights, scale), numbers(recurrence, recurrence_scale)
        direction = given.attributes["direction"]
        return op.LSTM(x, first, second, bias, None, h, c, hidden_size=HIDDEN, direction=direction, outputs=3)[0].sum()

    program = ps.load(given.save(tmp_path / "node.onnx"))
    joint = ps.split(program, wrt="x0", of="y0", seed="ones").joint()
    expected = ps.grad(layer)(given.inputs[0])
    np.testing.assert_allclose(joint(*given.fed().values())[-1], expected, atol=0.03 * np.abs(expected).max())


@pytest.mark.parametrize("attributes", [{"clip": 1.0}, {"input_forget": 1}, {"activations": ["Relu", "Tanh", "Tanh"]}])
def test_gates_of_other_kinds_are_refused(attributes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFunction, match="default gates"):
        ps.load(node(**attributes).save(tmp_path / "m.onnx"))
