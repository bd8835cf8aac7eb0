"""Scales and zero points whose rank, or number, only the run knows: one for all, or one for each entry of an axis."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps

HEAD = '<ir_version: 9, opset_import: ["" : 19]>'
READ = "n = DequantizeLinear <axis = {axis}> (q, s) y = Mul (n, n)"
PAIR = """z = Constant <value = int8 {{0}}> () q = QuantizeLinear <axis = {axis}> (x, s)
n = DequantizeLinear <axis = {axis}> (q, s) y = Mul (n, n)"""
LEVELS = np.arange(12, dtype=np.int8).reshape(4, 3)
SCALES = [np.array(0.5, np.float32), np.array([0.25], np.float32), np.array([0.5, 0.2, 0.1], np.float32)]


def loaded(folder: Path, text: str, *unranked: str) -> ps.Program:
    """The model's program, these values of it without a rank."""
    model = onnx.parser.parse_model(f"{HEAD}\n{text}")
    for value in (*model.graph.input, *model.graph.output):
        if value.name in unranked:
            value.type.tensor_type.ClearField("shape")
    path = str(folder / "model.onnx")
    onnx.save(model, path)
    return ps.load(path)


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize(
    ("sizes", "unranked"),
    [("[4,3]", ("s", "y")), ("[4,3]", ("q", "s", "y")), ("[N,M]", ("q", "y")), ("[N,M]", ())],
)
def test_integers_are_read_with_a_scale_that_may_be_one_for_all(
    sizes: str, unranked: tuple[str, ...], axis: int, tmp_path: Path
) -> None:
    """The sum of squares of `q s` has the derivative `2 s q^2` by each scale, summed over what it is for."""
    text = f"g (int8{sizes} q, float[K] s) => (float[N,M] y) {{ {READ.format(axis=axis)} }}"
    gradient = ps.split(loaded(tmp_path, text, *unranked), wrt="s", seed="ones").joint()
    for scale in SCALES if "s" in unranked else SCALES[1:]:
        value, slope = gradient(LEVELS, scale)
        squares = LEVELS.astype(np.float64) ** 2
        by_column = 2 * squares.sum(axis=0)
        np.testing.assert_allclose(value, squares * scale**2, rtol=1e-5)
        wanted = by_column * scale if scale.size == 3 else by_column.sum() * scale
        np.testing.assert_allclose(slope, wanted, rtol=1e-5)
        assert slope.shape == scale.shape


@pytest.mark.parametrize("unranked", [("s", "y"), ("x", "s", "y")])
def test_numbers_are_quantized_with_a_scale_of_unknown_rank(unranked: tuple[str, ...], tmp_path: Path) -> None:
    text = f"g (float[4,3] x, float s) => (float y) {{ {PAIR.format(axis=1)} }}"
    gradient = ps.split(loaded(tmp_path, text, *unranked), wrt=["x", "s"], seed="ones").joint()
    x = (np.arange(12).reshape(4, 3) / 7).astype(np.float32)
    for scale in (SCALES[0], SCALES[2]):
        levels = np.round(x / scale)
        value, dx, dscale = gradient(x, scale)
        np.testing.assert_allclose(value, (levels * scale) ** 2, rtol=1e-5)
        np.testing.assert_allclose(dx, 2 * levels * scale, rtol=1e-5)
        steps = 2 * levels * scale * (levels - x / scale)
        np.testing.assert_allclose(dscale, steps.sum(axis=0) if scale.ndim else steps.sum(), rtol=1e-3, atol=1e-5)
