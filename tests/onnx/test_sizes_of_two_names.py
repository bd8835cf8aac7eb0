"""Sizes that a model calls by two names and that are one in every run: gradients go through all the same."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import RunError
from primsplit.programs.pushed import push_program
from primsplit.testing import check_grads

ROWS = {
    "BatchNormalization": ([(2, 3, 4), (3,), (3,), (3,), (3,)], {}),
    "Conv": ([(1, 2, 5), (3, 2, 2), (3,)], {}),
    "ConvTranspose": ([(1, 2, 5), (2, 3, 2), (3,)], {}),
    "DeformConv": ([(1, 2, 3, 3), (2, 2, 2, 2), (1, 8, 2, 2), (2,)], {"kernel_shape": [2, 2]}),
    "GRU": ([(3, 2, 4), (1, 6, 4), (1, 6, 2)], {"hidden_size": 2}),
    "LSTM": ([(3, 2, 4), (1, 8, 4), (1, 8, 2)], {"hidden_size": 2}),
    "MatMul": ([(3,), (3,)], {}),
    "OneHot": ([np.array([0, 2]), np.array(3), (2,)], {}),
    "RMSNormalization": ([(2, 3), (3,)], {}),
    "RNN": ([(3, 2, 4), (1, 2, 4), (1, 2, 2)], {"hidden_size": 2}),
}
"""Shapes or values of inputs, and attributes."""
FIXED = {
    "Conv": {1},
    "ConvTranspose": {1},
    "DeformConv": {1},
    "GRU": {1, 2},
    "LSTM": {1, 2},
    "LSTM from states": {1, 2, 5},
    "RNN": {1, 2},
}
"""Weights, whose sizes the file tells."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("kind", ROWS)
def test_a_cotangent_has_the_sizes_of_its_input(kind: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    given, attributes = ROWS[kind]
    arrays = [random.uniform(0.1, 0.9, x) if isinstance(x, tuple) else x for x in given]
    fixed = FIXED.get(kind, set())
    inputs = [
        helper.make_tensor_value_info(
            f"x{i}",
            helper.np_dtype_to_tensor_dtype(a.dtype),
            list(a.shape) if i in fixed else [f"s{i}_{axis}" for axis in range(a.ndim)],
        )
        for i, a in enumerate(arrays)
    ]
    node = helper.make_node(kind, [v.name for v in inputs], ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
    opset = 23 if kind == "RMSNormalization" else 22
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10), tmp_path / "m")
    program = ps.load(str(tmp_path / "m"))
    made = ps.split(program, seed="ones").joint()
    wanted = [i for i, a in enumerate(arrays) if a.dtype == np.float64]
    check_grads(program, *arrays, order=1, symbolic=False)
    for position, gradient in zip(wanted, made(*arrays)[1:], strict=True):
        assert gradient.shape == arrays[position].shape
    tangents = [random.standard_normal(arrays[i].shape) for i in wanted]
    along = push_program(program).joint()(*arrays, *tangents)[-1]
    both = sum(np.vdot(g, t) for g, t in zip(made(*arrays)[1:], tangents, strict=True))
    np.testing.assert_allclose(along.sum(), both, rtol=1e-9)
    expected = ps.grad(lambda *xs: np.sum(program(*xs)), wrt=tuple(wanted))(*arrays)
    for gradient, own in zip(made(*arrays)[1:], expected, strict=True):
        np.testing.assert_allclose(gradient, own, rtol=1e-6, atol=1e-9)


def test_vectors_of_two_lengths_are_not_repeated_for_a_gradient(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (double[N] x, double[3] w) => (double y) { y = MatMul (x, w) }'
    )
    onnx.save(model, tmp_path / "m")
    gradient = ps.split(ps.load(str(tmp_path / "m"))).joint()
    with pytest.raises(RunError):
        gradient(np.ones(1), np.ones(3))


def test_a_layer_that_starts_from_so_many_sequences_has_a_tangent_for_any_number_of_them(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    weights = {"w": (1, 8, 1), "r": (1, 8, 2), "h": (1, 9, 2)}
    text = """<ir_version: 8, opset_import: ["" : 17]> g (double[2, N, 1] x) => (double[A, B, C] y)
        { z, y = LSTM <hidden_size = 2> (x, w, r, , , h) }"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(numpy_helper.from_array(random.uniform(-1, 1, s), n) for n, s in weights.items())
    onnx.save(model, tmp_path / "m")
    program = ps.load(str(tmp_path / "m"))
    x, t = random.standard_normal((2, 2, 9, 1))
    differences = (program(x + 1e-6 * t) - program(x - 1e-6 * t)) / 2e-6
    np.testing.assert_allclose(push_program(program).joint()(x, t)[1], differences, rtol=1e-6)


def test_a_scan_keeps_the_sizes_of_its_state_whatever_its_graph_calls_them(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (double[T, N] x) => (double[A] f, double[C, D] y)
        <double[3] start = {0.1, 0.2, 0.3}> {
        f, y = Scan <num_scan_inputs = 1, body = b (double[P] s, double[R] e) => (double[U] n, double[W] o) {
            n = Sin (e) o = Mul (s, e) }> (start, x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m")
    program = ps.load(str(tmp_path / "m"))
    gradient = ps.split(program, wrt="x", of="y", seed="ones").joint()
    x = np.random.default_rng(0).standard_normal((4, 3))
    before, after = np.vstack([[0.1, 0.2, 0.3], np.sin(x[:-1])]), np.vstack([x[1:], np.zeros(3)])
    np.testing.assert_allclose(gradient(x)[-1], before + after * np.cos(x))
    with pytest.raises(RunError):
        gradient(np.ones((4, 2)))
