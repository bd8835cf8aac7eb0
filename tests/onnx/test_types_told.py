"""Types that a file leaves out: of a sequence's elements, which the caller tells, and of values in graphs in nodes."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, SpecError

SQUARES = """<ir_version: 8, opset_import: ["" : 18]>
g (optional(seq(double[N])) o) => (double y) {
  s = OptionalGetElement (o) n = SequenceLength (s)
  t = Constant <value = bool {1}> () zero = Constant <value = double {0.0}> ()
  y = Loop (n, t, zero) <body = b (int64 k, bool c, double h) => (bool d, double e) {
    d = Identity (c) r = SequenceAt (s, k) q = Mul (r, r) p = ReduceSum <keepdims = 0> (q) e = Add (h, p)
  }>
}"""
APPENDED = """<ir_version: 8, opset_import: ["" : 18]>
g (int64 n, seq(double[N]) o) => (double y) {
  t = Constant <value = bool {1}> ()
  s = Loop (n, t, o) <body = b (int64 k, bool c, seq(double[N]) h) => (bool d, seq(double[N]) e) {
    d = Identity (c) r = SequenceAt (h, k) q = Mul (r, r) e = SequenceInsert (h, q)
  }>
  a = ConcatFromSequence <axis = 0> (s) y = ReduceSum <keepdims = 0> (a)
}"""


def without_shapes(folder: Path, text: str) -> str:
    """The model, none of the sequences at its ends or in its graphs with a shape."""
    model = onnx.parser.parse_model(text)
    bodies = [a.g for node in model.graph.node for a in node.attribute if a.HasField("g")]
    for value in (*model.graph.input, *(v for body in bodies for v in (*body.input, *body.output))):
        kind = value.type.optional_type.elem_type if value.type.HasField("optional_type") else value.type
        if kind.HasField("sequence_type"):
            kind.sequence_type.elem_type.tensor_type.ClearField("shape")
    path = str(folder / "model.onnx")
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("said", ["f64[3]", "f64[N]", "[N]", 1])
@pytest.mark.parametrize(("text", "first"), [(SQUARES, ()), (APPENDED, (np.array(2),))])
def test_the_elements_of_a_sequence_have_the_type_that_is_said_of_it(
    text: str, first: tuple[Any, ...], said: Any, tmp_path: Path
) -> None:
    """Both models are sums over squares, the second over the elements too."""
    path = without_shapes(tmp_path, text)
    gradient = ps.split(ps.load(path, lengths={"o": 2}, specs={"o": said})).joint()
    a, b = np.array([0.5, 1.0, -2.0]), np.array([3.0, 0.0, 1.0])
    value, *slopes = gradient(*first, a, b)
    np.testing.assert_allclose(value, sum(np.sum(x**2) + len(first) * np.sum(x) for x in (a, b)))
    for x, slope in zip((a, b), slopes, strict=True):
        np.testing.assert_allclose(slope, 2 * x + len(first))


@pytest.mark.parametrize("text", [SQUARES, APPENDED])
def test_what_needs_the_type_names_the_node_and_the_way_to_tell_it(text: str, tmp_path: Path) -> None:
    path = without_shapes(tmp_path, text)
    with pytest.raises(PrimsplitError, match=r"at model\.onnx:\d+ in (SequenceAt|Loop)(.|\n)*--spec x:f32\[N,3\]"):
        ps.split(ps.load(path, lengths={"o": 2}))


def test_a_type_of_another_dtype_is_refused_of_a_sequence_too(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="o is float64 in its file"):
        ps.load(without_shapes(tmp_path, SQUARES), lengths={"o": 2}, specs={"o": "f32[3]"})


@pytest.mark.parametrize("opset", [9, 13, 18, 21])
def test_values_of_graphs_in_nodes_and_outputs_need_no_types(opset: int, tmp_path: Path) -> None:
    """The IR asks for types of a model's own inputs only, and writers of models leave the others out."""
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
    g (double[N] x) => (double[N] y) {{
      n = Constant <value = int64 {{3}}> () t = Constant <value = bool {{1}}> () k = Constant <value = int64 {{1}}> ()
      z, m = Loop (n, t, x, k) <body = b (int64 i, bool c, double[N] h, int64 j) =>
        (bool d, double[N] e, int64 l) {{
        d = Identity (c) f = Sin (h) g = Cast <to = 11> (j) e = Mul (f, g)
        one = Constant <value = int64 {{1}}> () l = Add (j, one)
      }}>
      s = ReduceSum <keepdims = 0> (z) zero = Constant <value = double {{0.0}}> () b = Greater (s, zero)
      w = If (b) <then_branch = t () => (double[N] p) {{ p = Mul (z, z) }},
        else_branch = e () => (double[N] q) {{ q = Exp (z) }}>
      y = Mul (w, x)
    }}"""
    model = onnx.parser.parse_model(text)
    bodies = [a.g for node in model.graph.node for a in node.attribute if a.HasField("g")]
    for value in (*model.graph.output, *(v for body in bodies for v in (*body.input, *body.output))):
        value.ClearField("type")
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)

    def function(x: np.ndarray) -> np.ndarray:
        z = 3 * np.sin(2 * np.sin(np.sin(x)))
        return np.asarray((z * z if z.sum() > 0 else np.exp(z)) * x)

    gradient = ps.split(ps.load(path), seed="ones").joint()
    step = 1e-6
    for x in (np.array([0.3, 0.8, -0.1]), np.array([-0.5, 0.1, -0.2])):
        value, slope = gradient(x)
        np.testing.assert_allclose(value, function(x))
        moved = [(function(x + step * e) - function(x - step * e)).sum() / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(slope, moved, rtol=1e-6)
