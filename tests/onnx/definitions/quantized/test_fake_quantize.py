"""Pairs that quantize and read again: the cotangent passes where they do not saturate."""

from pathlib import Path

import numpy as np
import pytest

import primsplit as ps
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

PAIR = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")]


rng = np.random.default_rng(3)
draw = drawing(rng)


def test_a_pair_passes_the_cotangent_where_it_does_not_saturate(tmp_path: Path) -> None:
    x = np.array([[-4.0, -3.04, -3.0, 0.03], [1.0, 22.5, 22.54, 40.0]], np.float32)
    program = check_bits(saved(tmp_path, PAIR, {"x": x}, {"s": S, "z": Z}, 2), x=x)
    w = draw(2, 4)
    np.testing.assert_array_equal(gradient(program, x, w), w * inside(x))
    assert inside(x).tolist() == [[0, 1, 1, 1], [1, 1, 1, 0]]


def test_the_gradients_of_a_pair_are_those_of_torchs_fake_quantization(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    x, w = 20 * draw(3, 4), draw(3, 4)
    scales, zeros = np.array([0.1, 0.05, 0.2, 0.02], np.float32), np.array([0, 3, -5, 9], np.int8)
    path = saved(
        tmp_path,
        [node("QuantizeLinear", "x s z", "q", axis=-1), node("DequantizeLinear", "q s z", "y", axis=-1)],
        {"x": x},
        {"s": scales, "z": zeros},
        2,
    )
    program = check_bits(path, x=x)
    point, step = torch.tensor(x, requires_grad=True), torch.tensor(scales, requires_grad=True)
    made = torch._fake_quantize_learnable_per_channel_affine(
        point, step, torch.tensor(zeros.astype(np.float32)), 1, -128, 127, 1.0
    )
    (made * torch.tensor(w)).sum().backward()
    np.testing.assert_allclose(gradient(program, x, w), point.grad.numpy(), rtol=1e-5)
    _, dx, ds = ps.split(program, wrt=["x", "s"]).joint()(x, scales, w)
    np.testing.assert_allclose(dx, point.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(ds, step.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_blocks_and_other_integers_saturate_at_their_own_bounds(tmp_path: Path) -> None:
    x, w = 20 * draw(2, 4), draw(2, 4)
    scales = np.array([[0.01, 0.2], [0.1, 0.05]], np.float32)
    zeros = np.array([[0, 3], [-5, 9]], np.int8)
    attributes = {"axis": 1, "block_size": 2}
    nodes = [node("QuantizeLinear", "x s z", "q", **attributes), node("DequantizeLinear", "q s z", "y", **attributes)]
    program = ps.load(saved(tmp_path, nodes, {"x": x}, {"s": scales, "z": zeros}, 2))
    wide = inside(x, np.repeat(scales, 2, 1), np.repeat(zeros, 2, 1))
    np.testing.assert_array_equal(gradient(program, x, w), w * wide)
    nodes = [node("QuantizeLinear", "x s", "q", output_dtype=5), node("DequantizeLinear", "q s", "y")]
    program = ps.load(saved(tmp_path, nodes, {"x": x}, {"s": np.float32(1e-3)}, 2))
    np.testing.assert_array_equal(gradient(program, x, w), w * inside(x, np.float32(1e-3), np.int16(0)))


def test_a_weight_is_trained_through_its_pair(tmp_path: Path) -> None:
    x, w, seed = draw(3, 4), 3 * draw(4, 5), draw(3, 5)
    scales = np.array([0.02, 0.01, 0.03, 0.02, 0.05], np.float32)
    nodes = [
        node("QuantizeLinear", "w s z", "q", axis=1),
        node("DequantizeLinear", "q s z", "d", axis=-1),
        node("MatMul", "x d", "y"),
    ]
    path = saved(tmp_path, nodes, {"x": x}, {"w": w, "s": scales, "z": np.zeros(5, np.int8)}, 2)
    program = check_bits(path, x=x)
    mask = inside(w, scales, np.int8(0))
    assert 0 < mask.mean() < 1
    _, dw = ps.split(program, wrt="w").joint()(x, w, seed)
    np.testing.assert_allclose(dw, (x.T @ seed) * mask, rtol=1e-4, atol=1e-5)
    _, ds = ps.split(program, wrt="s").joint()(x, scales, seed)
    ratio = w / scales
    steps = np.clip(np.round(ratio), -128, 127) - ratio * mask
    np.testing.assert_allclose(ds, np.sum((x.T @ seed) * steps, 0), rtol=1e-3, atol=1e-3)


def test_a_pair_is_differentiated_twice(tmp_path: Path) -> None:
    x = np.array([[-4.0, -3.0, 0.03, 1.0, 40.0]], np.float32)
    program = ps.load(saved(tmp_path, PAIR, {"x": x}, {"s": S, "z": Z}, 2))
    first = ps.grad(lambda x: (program(x) ** 2).sum())
    np.testing.assert_array_equal(first(x), 2 * program(x) * inside(x))
    second = ps.grad(lambda x: (first(x) * np.arange(5, dtype=np.float32)).sum())
    np.testing.assert_array_equal(second(x), 2 * inside(x) * np.arange(5, dtype=np.float32))
