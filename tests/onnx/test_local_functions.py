"""Functions of a model that import another opset than it does: each is read in its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError, ShapeError, UnsupportedFunction

X = np.random.default_rng(0).standard_normal((2, 3, 4))


def saved(folder: Path, opset: int, own: int, body: str, attributes: str = "<k>") -> str:
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : {opset}, "local" : 1]>
        m (double[2, 3, 4] x) => (double[A, B, C] y) {{ t = Sin (x)  y = local.f <k = 1> (t) }}
        <domain: "local", opset_import: ["" : {own}]>
        f {attributes} (x) => (y) {{ {body} }}""")
    path = str(folder / "model.onnx")
    onnx.save(model, path)
    return path


def shares(x: Any) -> Any:
    """Return Softmax as before opset 13: shares of all axes from the first one on."""
    powers = np.exp(x)
    return powers / powers.sum(axis=(1, 2), keepdims=True)


def peaks(x: Any) -> Any:
    flat = x.reshape(len(x), -1)
    return np.eye(flat.shape[1])[flat.argmax(axis=1)].reshape(x.shape)


SUM = "a = ReduceSum <axes = [1], keepdims = 0> (x)  b = Unsqueeze <axes = [1]> (a)  y = Mul (b, x)"
RMS = "w = Constant <value = double[1] {1}> ()  y = RMSNormalization <epsilon = 0.0> (x, w)"
CASES: list[tuple[int, int, str, Callable[[Any], Any]]] = [
    (18, 11, SUM, lambda x: x * x.sum(axis=1, keepdims=True)),
    (23, 11, SUM, lambda x: x * x.sum(axis=1, keepdims=True)),
    (12, 18, "s = ReduceSum (x)  y = Mul (x, s)", lambda x: x * x.sum()),
    (18, 23, "y = Cast <to = 11> (x)", lambda x: x),
    (9, 21, "y = Elu (x)", lambda x: np.where(x < 0, np.expm1(x), x)),
    (9, 23, "y = Mul (x, x)", lambda x: x * x),
    (18, 23, RMS, lambda x: x / np.sqrt((x * x).mean(axis=-1, keepdims=True))),
    (9, 23, RMS, lambda x: x / np.sqrt((x * x).mean(axis=-1, keepdims=True))),
    (13, 9, "y = Softmax <axis : int = @k> (x)", shares),
    (21, 9, "y = Hardmax <axis : int = @k> (x)", peaks),
]


@pytest.mark.parametrize(("opset", "own", "body", "expected"), CASES, ids=[f"{a} {b} {c[:20]}" for a, b, c, _ in CASES])
def test_a_function_is_read_in_the_opset_that_it_imports(
    opset: int, own: int, body: str, expected: Callable[[Any], Any], tmp_path: Path
) -> None:
    program = ps.load(saved(tmp_path, opset, own, body))
    np.testing.assert_allclose(program(X), expected(np.sin(X)), rtol=1e-12)


def test_a_function_of_another_opset_has_a_gradient(tmp_path: Path) -> None:
    gradient = ps.split(ps.load(saved(tmp_path, 18, 11, SUM)), seed="ones").joint()
    x = np.sin(X)
    expected = 2 * x.sum(axis=1, keepdims=True) * np.cos(X)
    np.testing.assert_allclose(gradient(X)[-1], np.broadcast_to(expected, X.shape), rtol=1e-12)


DEFAULTS = """<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
    m (double[N] x) => (double[N] y) { a = local.outer (x)  y = local.inner <k = 0.125> (a) }
    <domain: "local", opset_import: ["" : 18, "local" : 1]>
    outer <j : float = 0.5> (x) => (y) { a = local.inner <k : float = @j> (x)  y = local.inner (a) }
    <domain: "local", opset_import: ["" : 18]>
    inner <k : float = 0.25> (x) => (y) {
        c = Constant <value_float : float = @k> ()  d = CastLike (c, x)  e = LeakyRelu <alpha : float = @k> (x)
        y = Mul (d, e) }"""


def test_an_attribute_that_a_call_leaves_out_is_the_functions_default(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(DEFAULTS), path)
    below, above = (0.5 * 0.25 * 0.125) ** 2, 0.5 * 0.25 * 0.125
    value, slope = ps.split(ps.load(path), seed="ones").joint()(np.array([-1.0, 2.0]))
    np.testing.assert_array_equal(value, [-below, 2 * above])
    np.testing.assert_array_equal(slope, [below, above])
    onnx.save(onnx.parser.parse_model(DEFAULTS.replace("<j : float = 0.5>", "<j>")), path)
    with pytest.raises(UnsupportedFunction, match="leaves out what inner, which it calls, has a default for: k"):
        ps.load(path)
    onnx.save(onnx.parser.parse_model(DEFAULTS.replace("<k : float = 0.25>", "<k>")), path)
    with pytest.raises(ParseError, match="a Constant has no value"):
        ps.load(path)


NEEDED = {
    "Range needs its input limit": "r = Range (f, n, f)  y = Mul (a, r)",
    "Slice needs its input starts": "e = Shape (a)  y = Slice (a, n, e)",
    "Where needs its input X": "t = Greater (a, f)  y = Where (t, n, a)",
    "Gemm needs its input B": "y = Gemm (a, n, b)",
}


@pytest.mark.parametrize("told", NEEDED)
def test_an_argument_that_a_call_leaves_out_and_a_node_needs_is_refused(told: str, tmp_path: Path) -> None:
    """onnxruntime does not load the model."""
    path = str(tmp_path / "model.onnx")
    text = f"""<ir_version: 9, opset_import: ["" : 18, "local" : 1]>
        m (double[N] x) => (double[N] y) {{ y = local.f (x, "", x) }}
        <domain: "local", opset_import: ["" : 18]>
        f (a, n, b) => (y) {{ f = Constant <value = double {{1}}> ()  {NEEDED[told]} }}"""
    onnx.save(onnx.parser.parse_model(text), path)
    with pytest.raises(ShapeError, match=told):
        ps.load(path)


def test_a_function_may_call_another_of_its_name(tmp_path: Path) -> None:
    """onnxruntime refuses that; the standard tells functions apart by their overloads too."""
    text = """<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        m (double[N] x) => (double[N] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 18, "local" : 1]> f (x) => (y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 18], overload: "inner"> f (x) => (y) { y = Sin (x) }"""
    model = onnx.parser.parse_model(text)
    model.functions[0].node[0].overload = "inner"
    path = str(tmp_path / "model.onnx")
    onnx.save(model, path)
    np.testing.assert_allclose(ps.load(path)(X.ravel()), np.sin(X.ravel()))


def test_a_function_of_another_opset_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="Unrecognized attribute: axes"):
        ps.load(saved(tmp_path, 11, 18, SUM))


@pytest.mark.parametrize("own", [11, 18])
def test_functions_of_several_opsets_that_call_each_other_are_refused(own: int, tmp_path: Path) -> None:
    path = saved(tmp_path, 18, 11, "y = local.g (x)")
    model = onnx.load(path)
    first = model.functions[0]
    first.opset_import.add(domain="local", version=1)
    second = model.functions.add()
    second.CopyFrom(first)
    second.name, second.node[0].op_type, second.opset_import[0].version = "g", "f", own
    onnx.save(model, path)
    with pytest.raises(ParseError, match=r"recursive|calls itself"):
        ps.load(path)


@pytest.mark.parametrize(("opset", "own"), [(11, 9), (9, 11), (12, 8)])
def test_operators_that_changed_since_are_read_in_two_old_opsets(opset: int, own: int, tmp_path: Path) -> None:
    path = saved(tmp_path, opset, own, "y = Dropout <ratio = 0.5> (x)" if own < 9 else "y = Hardmax <axis = 1> (x)")
    model = onnx.load(path)
    model.graph.node[0].op_type = "Hardmax"
    onnx.save(model, path)
    np.testing.assert_allclose(ps.load(path)(X), peaks(X))


def resized(opset: int, own: int, kinds: tuple[str, str], folder: Path) -> str:
    """A model and a function of it, each of which doubles an image in the way of its opset."""
    text = f"""<ir_version: 8, opset_import: ["" : {opset}, "local" : 1]>
        m (float[1, 1, H, W] x) => (float[1, 1, A, B] y) <float[4] s = {{1.0, 1.0, 2.0, 2.0}}>
        {{ t = local.f (x, s)  y = {kinds[0]} <mode = "linear"> (t, s) }}
        <domain: "local", opset_import: ["" : {own}]> f (x, s) => (y) {{ y = {kinds[1]} <mode = "linear"> (x, s) }}"""
    path = str(folder / "model.onnx")
    onnx.save(onnx.parser.parse_model(text), path)
    return path


@pytest.mark.parametrize(
    ("opset", "own", "kinds"), [(10, 9, ("Resize", "Upsample")), (9, 10, ("Upsample", "Resize"))], ids=["10 9", "9 10"]
)
def test_a_gradient_goes_through_operators_of_two_old_opsets(
    opset: int, own: int, kinds: tuple[str, str], tmp_path: Path
) -> None:
    gradient = ps.split(ps.load(resized(opset, own, kinds, tmp_path)), wrt="x", seed="ones").joint()
    picture = np.array([[[[1, 2], [3, 5]]]], np.float32)
    value, slope = gradient(picture)
    assert value.shape == (1, 1, 8, 8)
    np.testing.assert_allclose(slope.sum(), 64)
    np.testing.assert_allclose(value.sum(), float((slope * picture).sum()), rtol=1e-6)
