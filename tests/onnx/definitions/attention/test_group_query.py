"""GroupQueryAttention is what onnxruntime's kernel computes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.attention.nodes import ints, title
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node, is_float
from tests.versions import since

rng = np.random.default_rng(2)

draw = drawing(rng)

F = "float32"


D = [draw(2, 3, 6) / 2, draw(6, 24) / 2, draw(24) / 2]

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


@pytest.mark.parametrize("row", [GROUPED[0], GROUPED[8]], ids=title)
def test_what_has_a_kernel_of_float16_is_that_up_to_rounding(row: Node, tmp_path: Path) -> None:
    inputs = [x.astype(np.float16) if is_float(x) else x for x in row.inputs]
    check_node(replace(row, inputs=inputs, outputs=["float16"] * len(row.outputs)), tmp_path, tolerance=5e-3, order=0)


KERNELS = since("onnxruntime", "1.31", "its own kernels read masks and windows otherwise, or lack inputs")


@pytest.mark.sweep(8)
@KERNELS
@pytest.mark.parametrize("row", GROUPED, ids=title)
def test_grouped_attention_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=2 if row.declared else 1, step=2e-3)
