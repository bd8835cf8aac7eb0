"""Integers that are moved, padded or interpolated stand for numbers so moved."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.quantized.models import (
    S,
    Z,
    check_bits,
    gradient,
    inside,
    node,
    saved,
)


def loaded(folder: Path, nodes: str) -> ps.Program:
    """The sum of what the nodes make of the integers `q` of `x`, [2,3], which they give as `m`."""
    path = str(folder / "model.onnx")
    text = f"""<ir_version: 8, opset_import: ["" : 18]>
    g (float[2,3] x) => (float y) {{
      s = Constant <value_float = 0.5> () z = Constant <value = uint8 {{10}}> () q = QuantizeLinear (x, s, z)
      {nodes} n = DequantizeLinear (m, s, z) n2 = Mul (n, n) y = ReduceSum <keepdims = 0> (n2)
    }}"""
    onnx.save(onnx.parser.parse_model(text), path)
    return ps.load(path)


ON_NUMBERS = {
    "padded": (
        "p = Constant <value_ints = [0, 1, 2, 0]> () m = Pad (q, p)",
        lambda x: np.pad(x, ((0, 2), (1, 0)), constant_values=-5.0),
    ),
    "padded with a level": (
        "p = Constant <value_ints = [0, 1, 2, 0]> () v = Constant <value = uint8 {14}> () m = Pad (q, p, v)",
        lambda x: np.pad(x, ((0, 2), (1, 0)), constant_values=2.0),
    ),
    "padded by the edge": (
        'p = Constant <value_ints = [0, 1, 2, 0]> () m = Pad <mode = "edge"> (q, p)',
        lambda x: np.pad(x, ((0, 2), (1, 0)), mode="edge"),
    ),
    "repeated": (
        'k = Constant <value_floats = [2.0, 1.0]> () m = Resize <mode = "nearest"> (q, , k)',
        lambda x: np.repeat(x, 2, axis=0),
    ),
    "chosen": (
        "c = Constant <value = bool[3] {1, 0, 1}> () m = Compress <axis = 1> (q, c)",
        lambda x: x[:, [0, 2]],
    ),
}


@pytest.mark.parametrize(("nodes", "on_numbers"), ON_NUMBERS.values(), ids=list(ON_NUMBERS))
def test_integers_that_are_moved_or_padded_are_the_numbers_so_moved(
    nodes: str, on_numbers: Callable[[Any], Any], tmp_path: Path
) -> None:
    x = np.array([[-3.0, 0.2, 5.0], [200.0, 1.0, -1.4]], np.float32)
    numbers, inside = np.clip(np.round(x / 0.5), -10, 245) * 0.5, x < 122
    value, slope = ps.split(loaded(tmp_path, nodes)).joint()(x)
    np.testing.assert_allclose(value, np.sum(on_numbers(numbers) ** 2), rtol=1e-6)
    step = 0.25
    for place in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        ahead, behind = (np.sum(on_numbers(numbers + sign * moved) ** 2) for sign in (1, -1))
        np.testing.assert_allclose(slope[place], inside[place] * (ahead - behind) / (2 * step), rtol=1e-5)


def test_integers_of_which_it_is_not_known_what_becomes_of_them_have_no_gradient_of_zero(tmp_path: Path) -> None:
    program = loaded(tmp_path, "m = Max (q, z)")
    x = np.array([[-3.0, 0.2, 5.0], [2.0, 1.0, -1.4]], np.float32)
    np.testing.assert_allclose(program(x), np.sum(np.maximum(np.round(x / 0.5) * 0.5, 0) ** 2))
    with pytest.raises(MissingRule, match=r"Max at model\.onnx:4 in Max(.|\n)*put a DequantizeLinear before it"):
        ps.split(program)


def test_interpolated_integers_have_the_gradient_of_interpolated_numbers(tmp_path: Path) -> None:
    program = loaded(tmp_path, 'k = Constant <value_floats = [2.0, 1.0]> () m = Resize <mode = "linear"> (q, , k)')
    x = np.array([[-3.0, 1.0, 5.0], [2.0, 3.0, -1.0]], np.float32)
    value, slope = ps.split(program).joint()(x)
    weights = np.array([[1.0, 0.0], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]])
    np.testing.assert_allclose(value, np.sum((weights @ x) ** 2), rtol=0.1)
    np.testing.assert_allclose(slope, 2 * weights.T @ (weights @ x), atol=1.0)


rng = np.random.default_rng(3)

draw = drawing(rng)


def test_integers_that_are_moved_between_stand_for_their_numbers(tmp_path: Path) -> None:
    x = 3 * draw(2, 3, 4, 4)
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("MaxPool", "q", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Transpose", "p", "t", perm=[0, 2, 3, 1]),
        node("Split", "t", "a b", axis=3, num_outputs=2),
        node("Concat", "b a", "c", axis=3),
        node("Reshape", "c shape", "r"),
        node("DequantizeLinear", "r s z", "y"),
    ]
    constants = {"s": S, "z": Z, "shape": np.array([-1, 12])}
    program = check_bits(saved(tmp_path, nodes, {"x": x}, constants, 2), x=x)
    w = draw(2, 12)
    found = gradient(program, x, w)
    placed = w.reshape(2, 2, 2, 3)[..., [1, 2, 0]].transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found.reshape(2, 3, 2, 2, 2, 2).sum((3, 5)), placed * unsaturated_maximum(x), rtol=1e-6)


def unsaturated_maximum(x: np.ndarray) -> np.ndarray:
    return inside(x.reshape(2, 3, 2, 2, 2, 2).max((3, 5)))
