"""Functions of a model that import another opset than it does: each is read in its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.errors import ParseError, UnsupportedFunction

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
    """What Softmax meant before opset 13: shares of all axes from the first one on."""
    powers = np.exp(x)
    return powers / powers.sum(axis=(1, 2), keepdims=True)


def peaks(x: Any) -> Any:
    flat = x.reshape(len(x), -1)
    return np.eye(flat.shape[1])[flat.argmax(axis=1)].reshape(x.shape)


SUM = "a = ReduceSum <axes = [1], keepdims = 0> (x)  b = Unsqueeze <axes = [1]> (a)  y = Mul (b, x)"
CASES: list[tuple[int, int, str, Callable[[Any], Any]]] = [
    (18, 11, SUM, lambda x: x * x.sum(axis=1, keepdims=True)),
    (23, 11, SUM, lambda x: x * x.sum(axis=1, keepdims=True)),
    (12, 18, "s = ReduceSum (x)  y = Mul (x, s)", lambda x: x * x.sum()),
    (18, 23, "y = Cast <to = 11> (x)", lambda x: x),
    (9, 21, "y = Elu (x)", lambda x: np.where(x < 0, np.expm1(x), x)),
    (9, 23, "y = Mul (x, x)", lambda x: x * x),
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


def test_operators_of_two_old_opsets_that_changed_since_are_refused_by_name(tmp_path: Path) -> None:
    path = saved(tmp_path, 11, 9, "y = Hardmax <axis = 1> (x)")
    model = onnx.load(path)
    model.graph.node[0].op_type = "Hardmax"
    onnx.save(model, path)
    with pytest.raises(UnsupportedFunction, match="opsets 9 and 11"):
        ps.load(path)
