"""Products of something transposed and a vector, which onnxruntime fuses into wrong ones."""

import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest

import primsplit as ps
from primsplit.testing import check_grads

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
MATRIX = "agraph (double[M, K] a, double[M] v) => (double[K] y) { b = Transpose (a)\n y = MatMul (b, v) }"
STACK = """agraph (double[B, M, K] a, double[M] v) => (double[B, K] y)
{ b = Transpose <perm = [0, 2, 1]> (a)\n y = MatMul (b, v) }"""
INSIDE = """agraph (double[M, K] a, double[M] v) => (double[K] y) {
  b = Transpose (a)
  most = Constant <value = int64 {2}> ()
  true = Constant <value = bool {1}> ()
  begin = MatMul (b, v)
  y = Loop (most, true, begin) <
    body = step (int64 i, bool going, double[K] c) => (bool again, double[K] next) {
      again = Identity (going)
      part = MatMul (b, v)
      next = Add (c, part)
    }
  >
}"""


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3), (1, 2), (0, 2), (2, 0)])
@pytest.mark.parametrize(
    ("text", "lead", "factor"), [(MATRIX, (), 1), (STACK, (4,), 1), (INSIDE, (), 3)], ids=["matrix", "stack", "loop"]
)
def test_a_product_with_a_vector_is_that_of_numpy(text, lead, factor, sizes, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    loaded = ps.load(path)
    random = np.random.default_rng(0)
    a, v = random.normal(size=(*lead, *sizes)), random.normal(size=sizes[0])
    np.testing.assert_allclose(loaded(a, v), factor * np.swapaxes(a, -1, -2) @ v, rtol=1e-12)
    check_grads(lambda a, v: (loaded(a, v) ** 2).sum(), a, v, order=2, symbolic=False)


def test_a_transpose_outside_of_a_function_does_no_harm(tmp_path: pathlib.Path) -> None:
    path, text = (
        str(tmp_path / "model.onnx"),
        "agraph (double[M, K] a, double[K] v) => (double[M] y) { y = MatMul (a, v) }",
    )
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    product = ps.primitive(ps.load(path), name="product", inline=False)
    random = np.random.default_rng(0)
    a, v = random.normal(size=(2, 3)), random.normal(size=2)
    out = str(tmp_path / "functions.onnx")
    ps.export(lambda a, v: (product(a.T, v) ** 2).sum(), a, v, path=out, form="functions")
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    value, d_a, d_v = session.run(None, {"a": a, "v": v})
    y = a.T @ v
    np.testing.assert_allclose(value, (y**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(d_a, 2 * np.outer(v, y), rtol=1e-12)
    np.testing.assert_allclose(d_v, 2 * a @ y, rtol=1e-12)
