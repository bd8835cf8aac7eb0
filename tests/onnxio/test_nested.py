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


@pytest.fixture
def model(tmp_path: Path):
    def read(text: str) -> ps.Program:
        path = tmp_path / "model.onnx"
        onnx.save(onnx.parser.parse_model(HEAD + text), path)
        return ps.load(str(path))

    return read


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


def test_scans_and_branches_nest(model) -> None:
    loaded = model(NESTED)
    x = np.array([[0.3, -0.2, 0.5], [-0.4, 0.1, 0.6]])
    check_grads(lambda x, w: loaded(x, w), x, 0.7, order=2, symbolic=False)


def test_a_growing_carry_is_refused_with_the_reason(model) -> None:
    loaded = model("""
agraph (double[N] x, int64 most) => (double[M] y) {
  true = Constant <value = bool {1}> ()
  y = Loop (most, true, x) <
    body = step (int64 i, bool going, double[K] v) => (bool again, double[L] next) {
      again = Identity (going)
      next = Concat <axis=0> (v, v)
    }
  >
}
""")
    assert loaded(np.ones(2), np.int64(2)).shape == (8,)
    with pytest.raises(ps.PrimsplitError, match="keep its shape"):
        ps.split(loaded)
