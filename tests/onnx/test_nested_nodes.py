"""If, Loop and Scan of loaded models: captured values, several carries, axes and directions, early ends, nesting."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.testing import check_grads

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'

BRANCH = """
agraph (double[N] x, double w) => (double y) {
  total = ReduceSum <keepdims=0> (x)
  zero = Constant <value = double {0.0}> ()
  positive = Greater (total, zero)
  scaled = Mul (x, w)
  y = If (positive) <
    then_branch = high () => (double a) { e = Exp (scaled)  a = ReduceSum <keepdims=0> (e) },
    else_branch = low () => (double b) { s = Mul (total, total)  b = Mul (s, w) }
  >
}
"""

EARLY = """
agraph (double x, double w, int64 most) => (double y, int64 steps) {
  true = Constant <value = bool {1}> ()
  one = Constant <value = double {1.0}> ()
  none = Constant <value = int64 {0}> ()
  y, steps = Loop (most, true, x, none) <
    body = step (int64 i, bool going, double v, int64 n) => (bool again, double next, int64 m) {
      s = Sin (v)
      ws = Mul (w, s)
      half = Constant <value = double {0.5}> ()
      hv = Mul (half, v)
      next = Add (ws, hv)
      again = Greater (next, one)
      k = Constant <value = int64 {1}> ()
      m = Add (n, k)
    }
  >
}
"""

SCAN = """
agraph (double[2] h, double[3, T, 2] xs, double[2, T] zs, double[2] w) => (double[2] last, double[2, T] ys) {
  last, ys = Scan <
    num_scan_inputs = 2, scan_input_axes = [1, 1], scan_input_directions = [0, 1],
    scan_output_axes = [1], scan_output_directions = [1],
    body = step (double[2] c, double[3, 2] x, double[2] z) => (double[2] n, double[2] y) {
      first = Constant <value = int64[1] {0}> ()
      r = ReduceSum <keepdims=0> (x, first)
      cw = Mul (c, w)
      s = Add (cw, r)
      t = Add (s, z)
      n = Tanh (t)
      y = Mul (n, c)
    }
  > (h, xs, zs)
}
"""

NESTED = """
agraph (double[M, N] x, double w) => (double y) {
  start = Constant <value = double {0.5}> ()
  y, rows = Scan <
    num_scan_inputs = 1,
    body = outer (double c, double[N] row) => (double d, double sum) {
      d, cells = Scan <
        num_scan_inputs = 1,
        body = inner (double e, double cell) => (double f, double g) {
          zero = Constant <value = double {0.0}> ()
          up = Greater (cell, zero)
          f = If (up) <
            then_branch = a () => (double p) { ew = Mul (e, w)  q = Add (ew, cell)  p = Tanh (q) },
            else_branch = b () => (double r) { ee = Mul (e, e)  r = Mul (ee, w) }
          >
          g = Mul (f, cell)
        }
      > (c, row)
      sum = ReduceSum <keepdims=0> (cells)
    }
  > (start, x)
}
"""


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_branch_that_captures_has_its_gradient(model, sign) -> None:
    loaded = model(BRANCH)
    check_grads(lambda x, w: loaded(x, w), sign * np.array([0.3, 0.4, 0.2]), 0.7, order=2, symbolic=False)


@pytest.mark.parametrize(("x", "most", "steps"), [(9.0, 100, 4), (9.0, 2, 2), (0.2, 100, 1), (9.0, 0, 0)])
def test_a_loop_that_ends_early_has_its_gradient(model, x, most, steps) -> None:
    loaded = model(EARLY)
    assert int(loaded(x, 0.3, np.int64(most))[1]) == steps
    check_grads(lambda x, w: loaded(x, w, np.int64(most))[0], x, 0.3, order=2, symbolic=False)


def test_a_scan_along_other_axes_and_from_the_end_has_its_gradient(model) -> None:
    loaded = model(SCAN)
    random = np.random.default_rng(0)
    h, xs, zs, w = (random.normal(size=s) for s in ((2,), (3, 4, 2), (2, 4), (2,)))

    def loss(h, xs, zs, w):
        last, ys = loaded(h, xs, zs, w)
        return last.sum() + (ys**2 * np.array([1.0, -2.0])[:, None]).sum()

    carry, expected = h, np.zeros((2, 4))
    for i in range(4):
        new = np.tanh(carry * w + xs[:, i].sum(0) + zs[:, 3 - i])
        expected[:, 3 - i] = new * carry
        carry = new
    last, ys = loaded(h, xs, zs, w)
    np.testing.assert_allclose(last, carry, rtol=1e-12)
    np.testing.assert_allclose(ys, expected, rtol=1e-12)
    check_grads(loss, h, xs, zs, w, order=2, symbolic=False)


ONE_BY_ONE = """
agraph (double[4, 2] x, double[2] w) => (double[2] y, double[M, 1, 2] rows) {
  most = Constant <value_int = 4> ()
  going = Constant <value = bool[1] {1}> ()
  y, rows = Loop (most, going, w) <
    body = step (int64[1] i, bool[1] c, double[2] v) => (bool[1] again, double[2] next, double[1, 2] row) {
      again = Identity (c)
      one = Constant <value_ints = [1]> ()
      end = Add (i, one)
      zero = Constant <value_ints = [0]> ()
      read = Slice (x, i, end, zero)
      row = Mul (read, v)
      flat = Squeeze (row, zero)
      next = Sin (flat)
    }
  >
}
"""


@pytest.mark.parametrize("axes", ["", "[1]", "[1, 1, 1, 1]"])
def test_a_condition_may_have_any_axes_of_one_element(axes: str, model) -> None:
    text = ONE_BY_ONE.replace("  going = Constant <value = bool[1] {1}> ()\n", "").replace(
        "w) =>", "w, bool[1] going) =>"
    )
    loaded = model(text.replace("bool[1]", f"bool{axes}"))
    x, w, going = np.ones((4, 2)), np.array([0.5, -0.8]), np.array(True).reshape([1] * axes.count("1"))
    np.testing.assert_allclose(loaded(x, w, going)[0], np.sin(np.sin(np.sin(np.sin(w)))), rtol=1e-12)
    np.testing.assert_array_equal(loaded(x, w, ~going)[0], w)


def test_a_step_is_told_its_number_as_a_vector_where_it_says_so(model) -> None:
    """As onnxruntime has it; tf2onnx writes such loops."""
    loaded = model(ONE_BY_ONE)
    x, w = np.arange(8.0).reshape(4, 2) / 10, np.array([0.5, -0.8])
    v, rows = w, []
    for line in x:
        rows.append(line * v)
        v = np.sin(rows[-1])
    value, stacked = loaded(x, w)
    np.testing.assert_allclose(value, v, rtol=1e-13)
    np.testing.assert_allclose(stacked[:, 0], rows, rtol=1e-13)
    check_grads(lambda x, w: loaded(x, w)[0], x, w, symbolic=False)


def test_scans_and_branches_nest(model) -> None:
    loaded = model(NESTED)
    x = np.array([[0.3, -0.2, 0.5], [-0.4, 0.1, 0.6]])
    check_grads(lambda x, w: loaded(x, w), x, 0.7, order=2, symbolic=False)


COUNTED = """
agraph (double[3] x) => (double[3] y, double[M, 3] rows) {{
  most = Constant <value_int = 4> ()
  going = Constant <value = bool {{1}}> ()
  y, rows = Loop (most, {condition}, x) <
    body = step (int64 k, bool c, double[3] v) => (bool again, double[3] next, double[3] row) {{
      next = Sin (v)
      row = Mul (next, v)
      one = Constant <value_int = 1> ()
      again = {again}
    }}
  >
}}
"""


@pytest.mark.parametrize("condition", ["", "going"])
@pytest.mark.parametrize(("again", "steps"), [("Less (k, one)", 2), ("Identity (c)", 4)])
def test_a_loop_of_a_known_count_may_be_ended_by_a_step(model, condition, again, steps) -> None:
    """As onnxruntime has it, also where the loop is given no condition."""
    program = model(COUNTED.format(condition=condition, again=again))
    x = np.array([0.5, 0.8, 1.2])
    rows = program.block.results[1].type
    assert isinstance(rows.shape[0], int) == (steps == 4)
    assert program(x)[1].shape == (steps, 3)
    check_grads(program, x)


LAST = """
agraph (double[N] x) => (double[N] y) {
  total = ReduceSum <keepdims=0> (x)
  zero = Constant <value = double {0.0}> ()
  positive = Greater (total, zero)
  y = If (positive) <
    then_branch = high () => (double[N] a) { a = Mul (x, total) },
    else_branch = low () => (double[N] b) { b = Neg (x) }
  >
}
"""


def test_ones_are_cotangents_of_what_an_if_gives_too(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(HEAD + LAST), path)
    gradient = ps.split(ps.load(path), seed="ones").joint()
    np.testing.assert_array_equal(gradient(np.array([1.0, 2.0]))[1], [6.0, 6.0])
    np.testing.assert_array_equal(gradient(np.array([-1.0, -2.0, 0.0]))[1], [-1.0, -1.0, -1.0])


@pytest.mark.parametrize(
    "attributes",
    [
        "scan_input_directions = [7, 1], scan_input_axes = [1, 1], scan_output_axes = [1]",
        "scan_input_axes = [1, 1], scan_output_axes = [1], scan_output_directions = [-1]",
        "scan_input_axes = [4, 1], scan_output_axes = [1]",
        "scan_input_axes = [1, -3], scan_output_axes = [1]",
    ],
)
def test_axes_and_directions_that_there_are_not_are_refused_as_by_onnxruntime(attributes: str, tmp_path: Path) -> None:
    """The axis -3 of two was taken for axis 1, a direction of 7 for the reverse."""
    start, end = SCAN.index("scan_input_axes"), SCAN.index("    body = step")
    text = f"{HEAD}{SCAN[:start]}{attributes},\n{SCAN[end:]}"
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(text), path)
    with pytest.raises(ps.PrimsplitError, match=r"Scan|axis"):
        ps.load(path)
