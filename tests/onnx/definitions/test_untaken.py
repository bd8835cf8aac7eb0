"""Sides of a Where that are not taken, in loaded models: PyTorch's NaN, or none where the caller asks for it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps

HEAD = '<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 3]>\n'
X = np.array([-1.5, -0.5, 0.0, 0.5, 2.0])
UNARY = ["Acos", "Asin", "Atanh", "Log", "Reciprocal", "Sqrt"]
"""Infinite or undefined at or below -1, 0 or both."""
CHOSEN = """g (double[n] x, double[1] p) => (double[n] y) {
  zero = Constant<value: tensor = double {0.0}>()
  is_above = Greater(x, zero)
  %s
  y = Where(is_above, side, x)
}"""
BINARY = {
    "side = Pow(x, p)": lambda x, p: p * x ** (p - 1),
    "side = Div(p, x)": lambda x, p: -p / x**2,
    "logs = Log(x) roots = Sqrt(x) side = Mul(logs, roots)": lambda x, p: 1 / x**0.5 + 0.5 * np.log(x) / x**0.5,
    "huge = Constant<value: tensor = double {-1000.0}>() far = Mul(x, huge) big = Exp(far) side = Mul(big, big)": (
        lambda x, p: -2000 * np.exp(-2000 * x)
    ),
}


def loaded(folder: Path, text: str, *, safe_where: bool) -> Any:
    path = str(folder / "model.onnx")
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return ps.load(path, safe_where=safe_where)


@pytest.mark.parametrize("side", BINARY)
def test_with_safe_where_the_gradient_is_that_of_the_side_taken(side: str, tmp_path: Path) -> None:
    program = loaded(tmp_path, CHOSEN % side, safe_where=True)
    p = np.array([1.5])
    value, d_x, d_p = ps.split(program, seed="ones").joint()(X, p)
    expected = np.array([BINARY[side](x, p[0]) if x > 0 else 1.0 for x in X])
    np.testing.assert_allclose(d_x, expected, rtol=1e-12)
    assert np.isfinite(value).all()
    assert np.isfinite(d_p).all()


def test_without_it_the_nan_stays_as_in_pytorch(tmp_path: Path) -> None:
    program = loaded(tmp_path, CHOSEN % "side = Pow(x, p)", safe_where=False)
    gradient = ps.split(program, wrt="x", seed="ones").joint()(X, np.array([1.5]))[1]
    assert np.isnan(gradient[0])
    np.testing.assert_allclose(gradient[3:], 1.5 * X[3:] ** 0.5)


@pytest.mark.parametrize("kind", UNARY)
def test_forward_mode_and_second_derivatives_agree_with_it(kind: str, tmp_path: Path) -> None:
    program = loaded(tmp_path, CHOSEN % f"half = Mul(x, p) side = {kind}(half)", safe_where=True)
    plain = loaded(tmp_path, CHOSEN % f"half = Mul(x, p) side = {kind}(half)", safe_where=False)
    p = np.array([0.4])
    gradient = ps.split(program, wrt="x", seed="ones").joint()(X, p)[1]
    _, slope = ps.jvp(lambda x: program(x, p), (X,), (np.ones(5),))
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)
    inside = X[3:]
    expected = ps.hessian(lambda x: np.sum(plain(x, p)))(inside)
    np.testing.assert_allclose(ps.hessian(lambda x: np.sum(program(x, p)))(inside), expected, rtol=1e-12)
    assert np.isfinite(ps.hessian(lambda x: np.sum(program(x, p)))(X)).all()


def test_what_an_imputer_replaces_is_never_taken(tmp_path: Path) -> None:
    text = """g (float[n] x) => (float[n] y) {
      logs = Log(x)
      y = ai.onnx.ml.Imputer<imputed_value_floats: floats = [0], replaced_value_float: float = nan>(logs)
    }"""
    program = loaded(tmp_path, text, safe_where=False)
    x = np.array([-1, 0.5, 2], np.float32)
    value, gradient = ps.split(program, seed="ones").joint()(x)
    np.testing.assert_allclose(value, [0, np.log(0.5), np.log(2)], rtol=1e-6)
    np.testing.assert_array_equal(gradient, np.array([0, 2, 0.5], np.float32))


INSIDE = {
    "in a branch": """
  zero = Constant<value: tensor = double {0.0}>()
  is_above = Greater(x, zero)
  yes = Constant<value: tensor = bool {1}>()
  y = If(yes) <
    then_branch = a () => (double[n] u) { r = Sqrt(x) u = Where(is_above, r, x) },
    else_branch = b () => (double[n] v) { v = Identity(x) }
  >""",
    "around a branch": """
  zero = Constant<value: tensor = double {0.0}>()
  is_above = Greater(x, zero)
  yes = Constant<value: tensor = bool {1}>()
  r = If(yes) <
    then_branch = a () => (double[n] u) { u = Sqrt(x) }, else_branch = b () => (double[n] v) { v = Identity(x) }
  >
  y = Where(is_above, r, x)""",
    "in front of a branch": """
  zero = Constant<value: tensor = double {0.0}>()
  is_above = Greater(x, zero)
  yes = Constant<value: tensor = bool {1}>()
  r = Sqrt(x)
  y = If(yes) <
    then_branch = a () => (double[n] u) { u = Where(is_above, r, x) },
    else_branch = b () => (double[n] v) { v = Identity(r) }
  >""",
    "in the body of a scan": """
  start = Constant<value: tensor = double {1.0}>()
  last, y = Scan (start, x) <num_scan_inputs = 1, body = step (double c, double e) => (double d, double f) {
    zero = Constant<value: tensor = double {0.0}>()
    is_above = Greater(e, zero)
    r = Sqrt(e)
    f = Where(is_above, r, e)
    d = Identity(c)
  }>""",
    "one step after": """
  two = Constant<value: tensor = int64 {2}>()
  zero = Constant<value: tensor = double {0.0}>()
  is_above = Greater(x, zero)
  y, rest = Loop (two, , x, x) <
    body = step (int64 i, bool on, double[n] c, double[n] side) => (bool go, double[n] d, double[n] root) {
      go = Identity(on)
      d = Where(is_above, side, x)
      root = Sqrt(x)
    }
  >""",
}
"""Roots of positive numbers, and the numbers themselves where they are not."""


@pytest.mark.parametrize("place", INSIDE)
def test_a_choice_and_its_sides_may_be_inside_of_branches_and_loops(place: str, tmp_path: Path) -> None:
    text = f"g (double[n] x) => (double[n] y) {{{INSIDE[place]}\n}}"
    gradients = {}
    for safe_where in (False, True):
        program = loaded(tmp_path, text, safe_where=safe_where)
        value, gradient = ps.split(program, wrt="x", seed="ones").joint()(X)
        np.testing.assert_array_equal(value, [np.sqrt(x) if x > 0 else x for x in X])
        gradients[safe_where] = gradient
    wanted = np.array([0.5 / x**0.5 if x > 0 else 1.0 for x in X])
    np.testing.assert_allclose(gradients[True], wanted, rtol=1e-12)
    is_lost = np.isnan(gradients[False])
    assert is_lost.any() or place == "in the body of a scan"  # a body that shows its mask loses nothing
    np.testing.assert_allclose(gradients[False][~is_lost], wanted[~is_lost], rtol=1e-12)
