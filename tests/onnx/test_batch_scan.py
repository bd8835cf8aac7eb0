"""Scan of opset 8, which walks a batch of sequences of lengths of their own: beside onnxruntime, and its gradient."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper

import primsplit as ps
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(5)
H = RANDOM.standard_normal((2, 3, 2))
XS = RANDOM.standard_normal((2, 4, 3, 2))
ZS = RANDOM.standard_normal((2, 4, 2))
W = RANDOM.standard_normal((3, 2))


def saved(folder: Path, dtype: Any, *, lengths: bool, directions: Sequence[int]) -> str:
    """h <- w h + x + z along two sequences; stacks a Softmax over all of it, as opset 8 has it at axis 0."""
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def value(name: str, *shape: Any) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, number, shape)

    nodes = [
        helper.make_node("Mul", ["h", "w"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("Add", ["b", "z"], ["n"]),
        helper.make_node("Softmax", ["n"], ["s"], axis=0),
    ]
    body = helper.make_graph(
        nodes, "body", [value("h", 3, 2), value("x", 3, 2), value("z", 2)], [value("n", 3, 2), value("s", 3, 2)]
    )
    names = ["lengths" if lengths else "", "start", "xs", "zs"]
    scan = helper.make_node("Scan", names, ["last", "ys"], body=body, num_scan_inputs=2, directions=list(directions))
    inputs = [value("start", "B", 3, 2), value("xs", "B", "T", 3, 2), value("zs", "B", "T", 2), value("w", 3, 2)]
    given = [helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B"])] if lengths else []
    outputs = [value("last", "B", 3, 2), value("ys", "B", "T", 3, 2)]
    graph = helper.make_graph([scan], "g", [*given, *inputs], outputs)
    path = str(folder / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=4), path)
    return path


@pytest.mark.parametrize("directions", [(0, 0), (1, 0)])
@pytest.mark.parametrize("lengths", [None, (4, 4), (2, 3), (1, 4)])
def test_a_batch_of_sequences_is_walked_as_onnxruntime_does(
    lengths: tuple[int, ...] | None, directions: tuple[int, ...], tmp_path: Path
) -> None:
    path = saved(tmp_path, np.float32, lengths=lengths is not None, directions=directions)
    arrays = [a.astype(np.float32) for a in (H, XS, ZS, W)]
    fed = dict(zip(("start", "xs", "zs", "w"), arrays, strict=True))
    own = [] if lengths is None else [np.array(lengths)]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = session.run(None, {**fed, **({"lengths": own[0]} if own else {})})
    for value, wanted in zip(ps.load(path)(*own, *arrays), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lengths", [None, (2, 3), (0, 4)])
def test_the_gradient_of_a_batch_of_sequences_is_right(lengths: tuple[int, ...] | None, tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, np.float64, lengths=lengths is not None, directions=(1, 0)))
    own = [] if lengths is None else [np.array(lengths)]
    check_grads(lambda *arrays: program(*own, *arrays), H, XS, ZS, W, symbolic=False)


def test_what_lies_behind_an_examples_own_length_gets_no_gradient(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, np.float64, lengths=True, directions=(0, 0)))
    xs = XS.copy()
    xs[0, 2:] = np.nan

    def total(xs: Any) -> Any:
        return np.sum(program(np.array([2, 3]), H, xs, ZS, W)[1] ** 2)

    gradient = ps.grad(total)(xs)
    assert np.all(gradient[0, 2:] == 0)
    assert np.all(gradient[1, 3:] == 0)
    assert np.isfinite(gradient).all()


def test_a_batch_of_no_sequences_gives_none(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, np.float64, lengths=True, directions=(0, 0)))
    last, ys = program(np.zeros(0, np.int64), H[:0], XS[:0], ZS[:0], W)
    assert (last.shape, ys.shape) == ((0, 3, 2), (0, 4, 3, 2))


def test_a_batch_of_sequences_may_be_of_unknown_rank(tmp_path: Path) -> None:
    text = """<ir_version: 3, opset_import: ["" : 8]>
    g (double c, double x) => (double d, double y) {
      d, y = Scan <num_scan_inputs = 1, body = b (double h, double r) => (double n, double s) {
        n = Add (h, r) s = Mul (n, n)
      }> (, c, x)
    }"""
    model = onnx.parser.parse_model(text)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)
    program = ps.load(path)
    gradient = ps.split(program, of="y", seed="ones").joint()
    for shape in ((2, 4, 3), (1, 2), (2, 3, 2, 2)):
        x, start = RANDOM.standard_normal(shape), RANDOM.standard_normal((shape[0], *shape[2:]))
        sums = start[:, None] + np.cumsum(x, axis=1)
        _, value, by_start, by_x = gradient(start, x)
        np.testing.assert_allclose(program(start, x)[0], sums[:, -1])
        np.testing.assert_allclose(value, sums**2)
        np.testing.assert_allclose(by_start, 2 * sums.sum(axis=1))
        np.testing.assert_allclose(by_x, 2 * np.cumsum(sums[:, ::-1], axis=1)[:, ::-1])
