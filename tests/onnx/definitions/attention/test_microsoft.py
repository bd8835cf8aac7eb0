"""Attention, in the forms of com.microsoft, is what onnxruntime's kernels compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from primsplit.ir.errors import RunError
from tests.onnx.definitions.attention.nodes import ints, title
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_gradient, check_node, defined, kernel
from tests.versions import since

rng = np.random.default_rng(2)
draw = drawing(rng)
F = "float32"


D = [draw(2, 3, 6) / 2, draw(6, 24) / 2, draw(24) / 2]
BSD = ["B", "S", 6]
ATTENTION = [
    Node("com.microsoft::Attention", inputs, {"num_heads": 2, **attributes}, outputs, declared)
    for inputs, attributes, outputs, declared in [
        (D, {}, (F,), {0: BSD}),
        (D, {"scale": 0.3, "unidirectional": 1}, (F, F), {0: BSD}),
        ([*D, ints([1, 1, 0], [1, 0, 0])], {}, (F,), {0: BSD, 3: ["B", "S"]}),
        ([*D, ints([0, 1, 1], [1, 0, 0])], {"unidirectional": 1, "mask_filter_value": -3.0}, (F,), {}),
        ([*D, ints([[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[1, 1, 1]] * 3)], {}, (F,), {}),
        ([*D, ints(2, 3)], {}, (F,), {0: BSD, 3: ["B"]}),
        ([*D, ints(2, 3, 0, 1)], {}, (F,), {}),
        ([*D, None, draw(2, 2, 2, 5, 4)], {"unidirectional": 1}, (F, F), {0: BSD, 4: [2, "B", 2, "P", 4]}),
        ([*D, None, None, draw(1, 2, 3, 3)], {}, (F,), {}),
        ([*D, ints([1, 1, 0], [1, 0, 0]), None, draw(2, 2, 3, 3)], {}, (F,), {}),
        ([draw(2, 3, 6), draw(6, 20), draw(20)], {"qkv_hidden_sizes": [8, 8, 4]}, (F,), {}),
    ]
]
Q, K, V = draw(2, 3, 8), draw(2, 5, 8), draw(2, 5, 4)
QKV = {0: ["B", "S", 8], 1: ["B", "L", 8], 2: ["B", "L", 4]}
ROOM = draw(2, 2, 5, 4)
MULTI = [
    Node("com.microsoft::MultiHeadAttention", inputs, {"num_heads": 2, **attributes}, outputs, declared)
    for inputs, attributes, outputs, declared in [
        ([Q, K, V], {}, (F,), QKV),
        ([Q, K, V, draw(20)], {"scale": 0.5}, (F,), QKV),
        ([Q, K, V, draw(20)], {}, (F,), {0: ["B", "S", "D"], 1: ["B", "L", "D"], 2: ["B", "L", "E"], 3: ["F"]}),
        ([Q, K, V, None, ints([1, 1, 1, 0, 0], [1, 1, 1, 1, 1])], {}, (F,), {}),
        ([Q, K, V, None, ints(3, 5)], {}, (F,), {}),
        ([Q, K, V, None, None, draw(2, 1, 3, 5)], {}, (F,), {}),
        ([Q, Q, Q, None, None, None, draw(2, 2, 4, 4), draw(2, 2, 4, 4)], {"unidirectional": 1}, (F, F, F), {}),
        ([Q, K, V], {}, (F, "", "", F), {}),
        ([Q, draw(2, 2, 5, 4), draw(2, 2, 5, 4)], {}, (F,), {}),
        ([Q, draw(2, 2, 5, 4), draw(2, 2, 5, 4), draw(24)], {}, (F,), {}),
        ([Q, K, V], {"unidirectional": 1}, (F,), QKV),
        ([Q, K, V, None, ints(3, 5, 0, 3, 6, 0, 5, 10)], {}, (F,), {}),
        ([Q, Q, Q, None, None, None, ROOM, ROOM, ints(2)], {}, (F, F, F), {6: ["B", 2, "R", 4], 7: ["B", 2, "R", 4]}),
        ([Q, Q, Q, draw(24), None, None, ROOM, ROOM, ints(1)], {"unidirectional": 1}, (F, F, F), {}),
    ]
]


KERNELS = since("onnxruntime", "1.31", "its own kernels read masks and windows otherwise, or lack inputs")


@pytest.mark.sweep(2)
@KERNELS
@pytest.mark.parametrize("row", ATTENTION + MULTI, ids=title)
def test_attention_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=2 if row.declared else 1)


@pytest.mark.parametrize(
    "mask",
    [ints(2, 3), ints(2, 3, 0, 1), ints(2, 3, 0, 3, 6, 0, 3, 6)],
    ids=["ends", "ends and starts", "lengths and sums"],
)
def test_only_the_run_need_know_what_a_mask_of_numbers_tells(mask: np.ndarray, tmp_path: Path) -> None:
    node = Node("com.microsoft::Attention", [*D, mask], {"num_heads": 2}, (F,), {0: BSD, 3: ["M"]}, ranks=[3])
    expected = kernel(node, tmp_path / "kernel.onnx")[0]
    np.testing.assert_allclose(defined(node, tmp_path / "node.onnx")[0], expected, rtol=2e-5, atol=2e-5)
    with pytest.raises(RunError):
        defined(replace(node, inputs=[*D, ints(2, 3, 0, 1, 5)]), tmp_path / "node.onnx")


def test_packed_heads_are_read_apart(tmp_path: Path) -> None:
    packed, bias = draw(2, 3, 2, 3, 4), draw(24)
    apart = [packed[:, :, :, i].reshape(2, 3, 8) for i in range(3)]
    for inputs, same in [
        ([packed, None, None, bias], [*apart, bias]),
        ([apart[0], packed[:, :, :, 1:]], apart),
    ]:
        name = "com.microsoft::MultiHeadAttention"
        together = Node(name, inputs, {"num_heads": 2}, ranks=[3])
        wanted = defined(Node(name, same, {"num_heads": 2}, ranks=[3]), tmp_path / "apart.onnx")
        np.testing.assert_allclose(defined(together, tmp_path / "packed.onnx")[0], wanted[0], rtol=1e-5, atol=1e-6)
        check_gradient(together, tmp_path, order=1)


INTEGERS = [
    rng.integers(0, 256, (2, 3, 6)).astype(np.uint8),
    rng.integers(-128, 128, (6, 24)).astype(np.int8),
    draw(24),
    np.asarray(0.02, np.float32),
    np.asarray(0.01, np.float32),
]


@pytest.mark.parametrize(
    "inputs",
    [
        INTEGERS,
        [*INTEGERS, ints(2, 3), np.uint8(120), np.int8(3)],
        [*INTEGERS, None, np.uint8(120), np.int8(3), draw(2, 2, 2, 5, 4)],
    ],
    ids=["plain", "masked", "after a past"],
)
def test_attention_of_integers_is_what_its_kernel_computes(inputs: list[object], tmp_path: Path) -> None:
    arrays = [None if x is None else np.asarray(x) for x in inputs]
    outputs = (F, F) if len(inputs) > 8 else (F,)
    node = Node("com.microsoft::QAttention", arrays, {"num_heads": 2}, outputs, constant=frozenset({1, 3, 4}))
    check_node(node, tmp_path, order=0)
