"""Values of unknown rank: as the same elements with further axes of size 1, in every transform and dtype."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.programs.pushed import push_program
from tests.onnx.unranked import Saved, check_at

LAST = "a = Constant <value_ints = [-1]> ()"
ALIGNED = {
    "inside an If": "s = ReduceSum <keepdims = 0> (x) b = Cast <to = 9> (s) y = If (b) "
    "<then_branch = t () => (double p) { p = Mul (x, w) }, else_branch = e () => (double q) { q = Exp (x) }>",
}  # fmt: skip
SHAPES = [(4, 3), (2, 1, 3), (3,), (1, 3)]


@pytest.mark.parametrize("nodes", ALIGNED.values(), ids=list(ALIGNED))
def test_a_value_of_unknown_rank_has_a_gradient(nodes: str, saved: Saved) -> None:
    check_at(saved(nodes), SHAPES)


FRONT = [(3,), (3, 2), (3, 1, 2), (3, 2, 1, 3)]


def test_a_value_of_unknown_rank_may_have_none_of_its_elements_or_no_axes(saved: Saved) -> None:
    gradient = ps.split(ps.load(saved("b = Mul (x, x) y = Add (b, w)")), seed="ones").joint()
    assert gradient(np.zeros((0, 3)))[1].shape == (0, 3)
    np.testing.assert_allclose(gradient(np.array(2.0))[1], 12.0)


def test_what_is_read_beside_a_value_of_unknown_rank_has_a_gradient(saved: Saved) -> None:
    path = saved("b = Mul (x, w) y = MatMul (b, m)")
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    weights = [onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer if t.name in {"w", "m"}]
    _, dw, dm = ps.split(ps.load(path), wrt=["w", "m"], seed="ones").joint()(x, *weights)
    w, m = weights
    np.testing.assert_allclose(dw, (x.sum(axis=(0, 1)) * m.sum(axis=1)))
    np.testing.assert_allclose(dm, np.repeat((x * w).sum(axis=(0, 1))[:, None], 3, axis=1))


def test_results_of_unknown_rank_are_seeded_each_in_its_own_shape(saved: Saved) -> None:
    path = saved(
        "y = Mul (x, w) z = ReduceSum <keepdims = 0> (x, a)".replace("z =", f"{LAST} z ="),
        "(double x) => (double y, double z)",
    )
    made = ps.split(ps.load(path), of="z", seed="ones").joint()(np.ones((2, 3)))
    np.testing.assert_allclose(made[-1], np.ones((2, 3)))


def test_transforms_take_the_rank_of_their_arrays(saved: Saved) -> None:
    program = ps.load(
        saved("b = Mul (x, x) y = Gather <axis = 0> (b, i)".replace("b =", "i = Constant <value_ints = [1]> () b =", 1))
    )
    x, v = np.random.default_rng(0).standard_normal((2, 4, 3))
    mask = np.array([0, 1, 0, 0])[:, None]
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(program(x)))(x), 2 * x * mask)
    np.testing.assert_allclose(ps.hvp(lambda x: np.sum(program(x)))(x, v), 2 * v * mask)
    np.testing.assert_allclose(ps.jvp(program, (x,), (v,))[1], (2 * x * v)[1:2])
    np.testing.assert_allclose(ps.jacobian(program)(x[:, 0])[0], np.diag(2 * x[:, 0])[1])
    np.testing.assert_allclose(ps.vmap(program)(np.stack([x, v])), np.stack([x, v])[:, 1:2] ** 2)


OLD = {
    "bounds": ("b = Clip <max = 0.5> (x) y = Mul (b, x)", FRONT),
    "nothing dropped": ("b = Dropout (x) y = Mul (b, x)", FRONT),
    "padded": ("b = Pad <pads = [0, 1, 0, 2], value = 0.5> (x) y = Mul (b, b)", FRONT[1:2]),
}


@pytest.mark.parametrize(("nodes", "shapes"), OLD.values(), ids=list(OLD))
def test_so_it_has_in_operators_that_once_meant_something_else(
    nodes: str, shapes: Sequence[tuple[int, ...]], saved: Saved
) -> None:
    check_at(saved(nodes, opset=9), shapes)


def test_the_number_of_elements_of_a_value_of_unknown_rank_is_read(saved: Saved) -> None:
    path = saved("n = Size (x) f = Cast <to = 11> (n) b = Mul (x, x) y = Div (b, f)")
    check_at(path, SHAPES)


def test_a_value_of_unknown_rank_in_a_dtype_that_the_written_opset_lacks_has_a_gradient(saved: Saved) -> None:
    nodes = (
        "a = Cast <to = 16> (x) b = Mul (a, a) s = ReduceSum <keepdims = 0> (b) c = Mul (b, s) y = Cast <to = 1> (c)"
    )
    x = np.array([[0.5, 1.0], [2.0, -1.0]], np.float32)
    _, slope = ps.split(ps.load(saved(nodes, "(float x) => (float y)")), seed="ones").joint()(x)
    np.testing.assert_allclose(slope, 4 * x * (x * x).sum())


def test_a_branch_does_not_leave_its_values_to_what_is_behind_it(saved: Saved) -> None:
    nodes = (
        "s = ReduceSum <keepdims = 0> (w) b = Cast <to = 9> (s) z = If (b) "
        "<then_branch = t () => (double p) { p = Mul (x, w) }, else_branch = e () => (double q) { q = Exp (x) }> "
        "y = Mul (z, x)"
    )
    path = saved(
        nodes.replace("ReduceSum <keepdims = 0> (w)", "ReduceSum <keepdims = 0> (c)"),
        "(double x, double c) => (double y)",
    )
    gradient = ps.split(ps.load(path), wrt="x", seed="ones").joint()
    x = np.array([[0.5, 0.25, 1.0]])
    np.testing.assert_allclose(gradient(x, np.ones(1))[-1], 2 * x * [0.5, -1.0, 2.0])
    np.testing.assert_allclose(gradient(x, np.zeros(1))[-1], np.exp(x) * (1 + x))


def test_a_squeeze_that_torch_exports_as_two_branches_of_two_ranks_has_derivatives(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    text = """<ir_version: 8, opset_import: ["" : 17]> g (double[N, M, K] x) => (double[N, K] y) {
        b = Tanh (x) o = Constant <value_ints = [1]> () s = Shape (b) n = Gather (s, o) c = Equal (n, o)
        d = If (c) <then_branch = t () => (double[N, K] u) { u = Squeeze (b, o) },
                    else_branch = e () => (double[N, M, K] v) { v = Identity (b) }>
        y = Mul (d, d) }"""
    onnx.save(onnx.parser.parse_model(text), path)
    program = ps.load(path)
    gradient, forward = ps.split(program, seed="ones").joint(), push_program(program).joint()
    for shape in ((3, 1, 4), (0, 1, 4), (3, 1, 0), (1, 1, 1)):
        x = np.random.default_rng(0).standard_normal(shape)
        slope = 2 * np.tanh(x) * (1 - np.tanh(x) ** 2)
        np.testing.assert_allclose(gradient(x)[1], slope, strict=True)
        np.testing.assert_allclose(forward(x, x)[1], (slope * x)[:, 0], strict=True)
