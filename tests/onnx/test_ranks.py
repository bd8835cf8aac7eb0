"""Ranks and sizes that follow from nodes around a value, where the value's own node does not tell."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest

import primsplit as ps
from primsplit.testing import directional_derivative

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'

SQUEEZED_THEN_SPLIT = """
g (double[n,1,3] x, int64[1] unused) => (double[n,1] y) {
  flat = Squeeze(x)
  a, b, c = Split<axis: int = 1, num_outputs: int = 3>(flat)
  square = Mul(a, b)
  y = Add(square, c)
}"""
SQUEEZED_THEN_TRANSPOSED = """
g (double[n,1,3] x, int64[1] unused) => (double[3,n] y) {
  flat = Squeeze(x)
  turned = Transpose<perm: ints = [1, 0]>(flat)
  y = Mul(turned, turned)
}"""
SQUEEZED_THEN_ADDED = """
g (double[n,1,3] x, int64[1] unused) => (double[n,3] y) {
  flat = Squeeze(x)
  square = Mul(flat, flat)
  last = Constant<value_ints: ints = [-1, 3]>()
  same = Reshape(x, last)
  y = Mul(flat, same)
}"""
NUMBER_OR_VECTOR = """
g (double[n,1,3] x, int64[1] choice) => (double[3] y) {
  one = Constant<value_ints: ints = [1]>()
  is_one = Equal(choice, one)
  zero = Constant<value_ints: ints = [0]>()
  step = If(is_one) <
    then_branch = t () => (double a) { a = ReduceMax<keepdims: int = 0>(x) },
    else_branch = e () => (double[1] b) {
      w = Constant<value_ints: ints = [1]>()
      whole = ReduceSum<keepdims: int = 0>(x)
      b = Reshape(whole, w)
    }
  >
  three = Constant<value_ints: ints = [3]>()
  axes = Constant<value_ints: ints = [0, 1]>()
  rows = ReduceSum<keepdims: int = 0>(x, axes)
  y = Mul(rows, step)
}"""
SHAPE_KNOWN_IN_PART = """
g (double[n,1,3] x, int64[1] rows) => (double[m,3] y) {
  three = Constant<value_ints: ints = [3]>()
  shape = Concat<axis: int = 0>(rows, three)
  flat = Reshape(x, shape)
  w = Constant<value: tensor = double[3,1] {1.0, 2.0, 3.0}>()
  product = MatMul(flat, w)
  y = Mul(flat, product)
}"""
PADS_FROM_A_MATRIX = """
g (double[n,1,3] x, int64[1] unused) => (double[n,4] y) {
  ends = Constant<value: tensor = int64[3,2] {0, 1, 0, 0, 0, 0}>()
  from = Constant<value_ints: ints = [-1]>()
  to = Constant<value_ints: ints = [-9]>()
  zero = Constant<value_ints: ints = [0]>()
  turned = Slice(ends, from, to, zero, from)
  columns = Transpose<perm: ints = [1, 0]>(turned)
  joined = Reshape(columns, from)
  pads = Cast<to: int = 7>(joined)
  padded = Pad(x, pads)
  one = Constant<value_ints: ints = [1]>()
  shape = Shape(padded)
  middle = Gather<axis: int = 0>(shape, one)
  is_one = Equal(middle, one)
  flat = If(is_one) <
    then_branch = t () => (double[n,4] a) { a = Squeeze(padded, one) },
    else_branch = e () => (double[n,1,4] b) { b = Identity(padded) }
  >
  y = Mul(flat, flat)
}"""
TOLD_BY_THE_RANK = """
g (double[n,1,3] x, int64[1] unused) => (double[n,1,3] y) {
  shape = Shape(x)
  rank = Size(shape)
  zero = Constant<value_int: int = 0>()
  none = CastLike(zero, rank)
  is_number = Equal(rank, none)
  one = Constant<value_ints: ints = [1]>()
  flat = If(is_number) <
    then_branch = t () => (double[1] a) { a = Reshape(x, one) },
    else_branch = e () => (double[n,1,3] b) { b = Identity(x) }
  >
  y = Mul(flat, flat)
}"""
ROWS = {
    "squeeze, split": (SQUEEZED_THEN_SPLIT, 0),
    "squeeze, transpose": (SQUEEZED_THEN_TRANSPOSED, 0),
    "squeeze, product with a matrix": (SQUEEZED_THEN_ADDED, 0),
    "a number from an If": (NUMBER_OR_VECTOR, 1),
    "a vector from an If": (NUMBER_OR_VECTOR, 2),
    "a branch for numbers": (TOLD_BY_THE_RANK, 0),
    "pads from a matrix": (PADS_FROM_A_MATRIX, 0),
    "a shape known in part": (SHAPE_KNOWN_IN_PART, 4),
}


@pytest.mark.parametrize(("text", "number"), ROWS.values(), ids=list(ROWS))
def test_a_rank_that_other_nodes_settle_is_known(text: str, number: int, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    model = onnx.parser.parse_model(HEAD + text)
    onnx.save(model, path)
    program = ps.load(path)
    assert program.block.results[0].type.rank is not None
    random = np.random.default_rng(0)
    x, direction = random.standard_normal((2, 4, 1, 3))
    names = [v.name for v in model.graph.input]
    evaluator = onnx.reference.ReferenceEvaluator(model)

    def expected(x: np.ndarray) -> np.ndarray:
        found: np.ndarray = evaluator.run(None, dict(zip(names, [x, np.array([number])], strict=True)))[0]
        return found

    value, gradient = ps.split(program, wrt="x", seed="ones").joint()(x, np.array([number]))
    np.testing.assert_allclose(value, expected(x))
    slope = directional_derivative(lambda moved: float(expected(moved[0]).sum()), [x], [direction])
    np.testing.assert_allclose(np.vdot(gradient, direction), slope, rtol=1e-6)


def test_what_other_nodes_do_not_settle_stays_unknown(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    text = "g (double[n,1,3] x) => (double[...] y) { flat = Squeeze(x) y = Mul(flat, flat) }"
    onnx.save(onnx.parser.parse_model(HEAD + text.replace("[...]", "")), path)
    program = ps.load(path)
    assert program.block.results[0].type.rank is None
    assert program(np.ones((1, 1, 3))).shape == (3,)
    assert program(np.ones((2, 1, 3))).shape == (2, 3)
