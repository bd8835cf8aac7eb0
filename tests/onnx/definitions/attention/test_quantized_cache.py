"""GroupQueryAttention with a cache of integers is what its kernel computes; its rounding is passed straight through."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node, kernel
from tests.versions import since

rng = np.random.default_rng(4)
draw = drawing(rng)
GROUPS = {"num_heads": 4, "kv_num_heads": 2}
SIZE = 16
KERNELS = since("onnxruntime", "1.32", "its own kernel has no caches of integers")
CACHES = [(kind, bits) for kind in ("PER_TENSOR", "PER_CHANNEL") for bits in (8, 4)]


def step(kind: str, bits: int, **attributes: Any) -> Node:
    """One further word in rows of four and two words, whose keys and values saturate here and there."""
    dtype, width = ("int8", SIZE) if bits == 8 else ("uint8", SIZE // 2)
    past = [rng.integers(-90, 90, (2, 2, 6, width)).astype(dtype) for _ in range(2)]
    shape = (1,) if kind == "PER_TENSOR" else (1, 2, 1, SIZE)
    scales = [(0.7 * 2.0 ** (1 - bits) * (1 + np.abs(draw(*shape)) / 8)).astype(np.float32) for _ in range(2)]
    new = [draw(2, 1, 4 * SIZE), draw(2, 1, 2 * SIZE), draw(2, 1, 2 * SIZE)]
    angles = [draw(9, SIZE // 2), draw(9, SIZE // 2)] if attributes.get("do_rotary") else [None, None]
    told = {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits, **GROUPS, **attributes}
    inputs = [*new, *past, np.array([4, 2], np.int32), np.array(5, np.int32), *angles, None, None, None, *scales]
    return Node("com.microsoft::GroupQueryAttention", inputs, told, ("float32", dtype, dtype))


def numbers(cache: np.ndarray, bits: int) -> np.ndarray:
    if bits == 8:
        return cache.astype(np.float32)
    halves = np.stack([cache & 15, cache >> 4], -1).astype(np.float32) - 8
    return halves.reshape(*cache.shape[:-1], SIZE)


@KERNELS
@pytest.mark.parametrize("attributes", [{}, {"do_rotary": 1}, {"local_window_size": 3}], ids=str)
@pytest.mark.parametrize(("kind", "bits"), CACHES)
def test_a_step_is_what_its_kernel_computes(kind: str, bits: int, attributes: Any, tmp_path: Path) -> None:
    check_node(step(kind, bits, **attributes), tmp_path, order=0)


@KERNELS
@pytest.mark.parametrize(("kind", "bits"), CACHES)
def test_its_gradient_is_that_of_numbers_where_they_do_not_saturate(kind: str, bits: int, tmp_path: Path) -> None:
    """Held against differences of the kernel for a cache of floats, at the rounded keys and values."""
    node = step(kind, bits)
    scales = [x.reshape(-1) for x in node.inputs[12:]]
    rounded, inside = [], []
    for new, scale in zip(node.inputs[1:3], scales, strict=True):
        levels = np.rint(new / scale)
        kept = np.clip(levels, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        inside.append(levels == kept)
        rounded.append((kept * scale).astype(np.float32))
    assert all(0 < part.mean() < 1 for part in inside)
    past = [numbers(x, bits) * s for x, s in zip(node.inputs[3:5], node.inputs[12:], strict=True)]
    plain = [node.inputs[0], *rounded, *past, *node.inputs[5:7]]

    def total(position: int, element: int, move: float) -> float:
        moved = [np.array(x) for x in plain]
        moved[position].reshape(-1)[element] += move
        found = kernel(Node(node.kind, moved, GROUPS, ("float32",) * 3), tmp_path / "plain.onnx")[0]
        return float(np.vdot(cotangent.astype(np.float64), found))

    program = ps.load(node.save(tmp_path / "node.onnx"))
    cotangent = draw(2, 1, 4 * SIZE)
    file = ps.split(program, wrt=["x0", "x1", "x2"], of="y0").joint()
    gradients = file(*node.fed().values(), cotangent)[-3:]
    for position, passed in enumerate([True, *inside]):
        gradient = gradients[position].reshape(-1)
        for element in range(0, gradient.size, 7):
            slope = (total(position, element, 0.02) - total(position, element, -0.02)) / 0.04
            assert (
                abs(gradient[element] - slope * np.broadcast_to(passed, (2, 1, gradient.size // 2)).flat[element])
                < 2e-3
            )


@pytest.mark.parametrize(
    "told", [{"kv_cache_bit_width": 2}, {"v_quant_type": "NONE"}, {"k_quant_type": "OWN"}], ids=str
)
def test_a_cache_in_another_form_is_refused_with_those_that_are_read(told: Any, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFunction, match="of 4 or 8 bits, PER_TENSOR or PER_CHANNEL"):
        ps.load(step("PER_TENSOR", 8, **told).save(tmp_path / "node.onnx"))
