"""Attention, in the forms of com.microsoft, is what onnxruntime's kernels compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from primsplit.ir.errors import RunError, ShapeError
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_gradient, check_node, defined, is_float, kernel
from tests.versions import since

rng = np.random.default_rng(2)
draw = drawing(rng)
F = "float32"


def ints(*rows: object) -> np.ndarray:
    return np.array(rows, np.int32)


COS, SIN = draw(9, 4), draw(9, 4)
PLACES = rng.integers(0, 9, (2, 3))
ROTARY = [
    Node("com.microsoft::RotaryEmbedding", [x, places, cos, sin], attributes, declared=declared)
    for x, places, cos, sin, attributes, declared in [
        (draw(2, 3, 16), PLACES, COS, SIN, {}, {0: ["B", "S", 16], 1: ["B", "S"]}),
        (draw(2, 3, 16), PLACES, COS, SIN, {}, {0: ["B", "S", "D"], 1: ["B", "S"]}),
        (draw(2, 3, 16), PLACES, COS, SIN, {"interleaved": 1}, {}),
        (draw(2, 2, 3, 8), PLACES, COS, SIN, {"interleaved": 1}, {}),
        (draw(2, 3, 16), np.array([4]), COS, SIN, {}, {0: ["B", "S", 16]}),
        (draw(2, 3, 32), PLACES, COS, SIN, {"num_heads": 2, "rotary_embedding_dim": 8}, {}),
        (draw(2, 3, 16), PLACES, COS, SIN, {"scale": 2.0}, {}),
    ]
]
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

GROUPS = {"num_heads": 4, "kv_num_heads": 2}
QG, KG, VG = draw(2, 3, 32), draw(2, 3, 16), draw(2, 3, 16)
NEXT = [draw(2, 1, 32), draw(2, 1, 16), draw(2, 1, 16)]
LATER = [draw(1, 2, 32), draw(1, 2, 16), draw(1, 2, 16)]
PAST = [draw(2, 2, 4, 8), draw(2, 2, 4, 8)]
FIRST = [ints(2, 2), np.asarray(3, np.int32)]
RAGGED = [ints(4, 2), np.asarray(5, np.int32)]
ONE = [ints(5), np.asarray(6, np.int32)]
QN, KN, ANGLES = draw(2, 3, 64), draw(2, 3, 32), [draw(9, 8), draw(9, 8)]
GROUPED = [
    Node("com.microsoft::GroupQueryAttention", inputs, {**GROUPS, **attributes}, (F, F, F), declared)
    for inputs, attributes, declared in [
        ([QG, KG, VG, None, None, *FIRST], {}, {}),
        ([QG, KG, VG, None, None, *FIRST], {"scale": 0.25, "softcap": 1.5}, {}),
        ([QG, KG, VG, None, None, *FIRST], {"smooth_softmax": 1}, {}),
        ([QG, KG, VG, None, None, *FIRST], {"local_window_size": 2}, {}),
        ([QG, KG, VG, None, None, *FIRST], {"causal": 0}, {}),
        ([QG, KG, VG, None, None, *FIRST, None, None, None, draw(1, 4, 3, 3)], {"softcap": 1.5}, {}),
        ([QG, KG, VG, None, None, *FIRST, None, None, None, None, draw(4)], {}, {}),
        ([draw(2, 3, 64), None, None, None, None, *FIRST], {}, {}),
        ([*NEXT, *PAST, *RAGGED], {}, {}),
        ([*NEXT, *PAST, *RAGGED], {"local_window_size": 2}, {}),
        (
            [draw(2, 1, 64), None, None, *PAST, *RAGGED],
            {},
            {0: ["B", "S", "D"], 3: ["B", 2, "P", 8], 4: ["B", 2, "P", 8], 5: ["B"]},
        ),
        ([*LATER, draw(1, 2, 4, 8), draw(1, 2, 4, 8), *ONE], {}, {}),
        ([*LATER, draw(1, 2, 9, 8), draw(1, 2, 9, 8), *ONE], {}, {}),
        ([QN, KN, KN, None, None, *FIRST, *ANGLES], {"do_rotary": 1}, {}),
        ([QN, KN, KN, None, None, *FIRST, *ANGLES], {"do_rotary": 1, "rotary_interleaved": 1}, {}),
        (
            [draw(2, 1, 64), draw(2, 1, 32), draw(2, 1, 32), draw(2, 2, 4, 16), draw(2, 2, 4, 16), *RAGGED, *ANGLES],
            {"do_rotary": 1},
            {
                0: ["B", "S", 64],
                1: ["B", "S", 32],
                2: ["B", "S", 32],
                3: ["B", 2, "P", 16],
                4: ["B", 2, "P", 16],
                5: ["B"],
            },
        ),
        ([QN, KN, KN, None, None, *FIRST, *ANGLES, ints([2, 3, 4], [1, 2, 3]).astype(int)], {"do_rotary": 1}, {}),
        (
            [
                draw(2, 1, 64),
                draw(2, 1, 32),
                draw(2, 1, 32),
                draw(2, 2, 4, 16),
                draw(2, 2, 4, 16),
                *RAGGED,
                *ANGLES,
                ints([4], [2]).astype(int),
            ],
            {"do_rotary": 1},
            {
                0: ["B", "S", 64],
                1: ["B", "S", 32],
                2: ["B", "S", 32],
                3: ["B", 2, "P", 16],
                4: ["B", 2, "P", 16],
                5: ["B"],
                9: ["B", "S"],
            },
        ),
    ]
] + [
    Node("com.microsoft::GroupQueryAttention", [QG, KG, VG, None, None, *FIRST], {**GROUPS, "qk_output": i}, (F,) * 4)
    for i in (1, 2)
]


def windowed(inputs: list[object], room: int, last: list[int], *, names: bool = False, softcap: float = 0.0) -> Node:
    """Attention whose cache has room for this many words; at these last words all of it is taken."""
    rows = len(last)
    past = [draw(rows, 2, room, 8), draw(rows, 2, room, 8)]
    return Node(
        "com.microsoft::GroupQueryAttention",
        [*inputs, *past, ints(*last), np.asarray(max(last) + 1, np.int32)],
        {**GROUPS, "sliding_window_cache": 1, "local_window_size": 3, "softcap": softcap},
        (F, F, F),
        {i: [rows, 2, "C", 8] for i in (3, 4)} if names else {},
    )


WINDOWED = [
    windowed(NEXT, 3, [4, 2]),
    windowed(NEXT, 4, [5, 3], softcap=1.5),
    windowed(LATER, 5, [7], names=True),
    windowed([draw(1, 6, 32), draw(1, 6, 16), draw(1, 6, 16)], 3, [5]),
]


def title(row: Node) -> str:
    given = "".join("x" if x is not None else "-" for x in row.inputs)
    return f"{row.kind.rpartition('::')[2]}-{given}-{','.join(f'{k}={v}' for k, v in row.attributes.items())}"


@pytest.mark.parametrize("row", ROTARY, ids=title)
def test_a_rotary_embedding_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path)


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


@pytest.mark.parametrize("names", [False, True])
def test_a_cache_that_cannot_hold_its_window_is_refused(names: bool, tmp_path: Path) -> None:
    with pytest.raises((ShapeError, RunError), match=r"cannot hold a window of 3|out of bounds|indices element"):
        defined(windowed(NEXT, 2, [4, 2], names=names), tmp_path / "node.onnx")


@pytest.mark.sweep(2)
@KERNELS
@pytest.mark.parametrize("row", GROUPED + WINDOWED, ids=title)
def test_grouped_attention_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=2 if row.declared else 1, step=2e-3)


@pytest.mark.parametrize("row", [ROTARY[0], ROTARY[1], GROUPED[0], GROUPED[8]], ids=title)
def test_what_has_a_kernel_of_float16_is_that_up_to_rounding(row: Node, tmp_path: Path) -> None:
    inputs = [x.astype(np.float16) if is_float(x) else x for x in row.inputs]
    check_node(replace(row, inputs=inputs, outputs=["float16"] * len(row.outputs)), tmp_path, tolerance=5e-3, order=0)


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


STATES = [
    Node("com.microsoft::CausalConvWithState", [draw(2, 3, 5), draw(3, 1, 4)], {}, (F, F), {0: ["B", 3, 5]}),
    Node(
        "com.microsoft::CausalConvWithState",
        [draw(2, 3, 5), draw(3, 1, 4), draw(3), draw(2, 3, 3)],
        {"activation": "silu"},
        (F, F),
    ),
    Node(
        "com.microsoft::LinearAttention",
        [draw(2, 3, 8), draw(2, 3, 8), draw(2, 3, 8)],
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"},
        (F, F),
    ),
    Node(
        "com.microsoft::LinearAttention",
        [*(draw(2, 3, 8) / 4 for _ in range(3)), draw(2, 2, 4, 4), -np.abs(draw(2, 3, 2)), np.abs(draw(2, 3, 2)) / 4],
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated_delta"},
        (F, F),
    ),
]


@pytest.mark.parametrize("row", STATES, ids=title)
def test_layers_with_a_state_are_what_their_kernels_compute(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=1)
