"""The node that a checker refuses is told by its name, or its number and what it gives."""

from pathlib import Path

import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("y = GRU <hidden_size = 9000000000000000000> (x, w, r)", "hidden size"),
        ("a = Exp (x) y = Dropout ()", "0 inputs"),
        (
            (
                "s = ReduceSum <keepdims = 0> (w) c = Cast <to = 9> (s) y = If (c) <then_branch = t () => (float p) "
                "{ p = Exp (w) }, else_branch = e () => (double q) { q = Cast <to = 11> (w) }>"
            ),
            "two sides of a branch differ(?s:.)*in If",
        ),
    ],
)
def test_a_node_that_its_operator_does_not_take_is_refused(nodes: str, words: str, tmp_path: Path) -> None:
    """Beside values of unknown rank, whose ranks nodes are asked for."""
    head = "(float[T,B,I] x, float[D,G,I] w, float[D,G,H] r) => (float[k,l,m,n] y)"
    path = str(tmp_path / "model.onnx")
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 9]> g {head} {{ {nodes} }}')
    model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    with pytest.raises(PrimsplitError, match=words):
        ps.split(ps.load(path))


@pytest.mark.parametrize(
    ("nodes", "where", "cure"),
    [
        ("a = Relu (x) y = Foo (a)", "node 2, a Foo giving y", "give the node that domain"),
        ("a = Relu (x) y = Swish (a)", "node 2, a Swish giving y", ""),
        ("a = Relu (x) y = Upsample (a)", "node 2, an Upsample giving y", "ONNX has Upsample at other opsets"),
        ("a = Relu (x) y = Add (a)", "node 2, an Add giving y", ""),
        (
            (
                "s = ReduceSum <keepdims = 0> (x) c = Cast <to = 9> (s) y = If (c) <then_branch = t () => (float[N] p) "
                "{ p = Foo (x) }, else_branch = e () => (float[N] q) { q = Relu (x) }>"
            ),
            "node 1 of the graph t, a Foo giving p",
            "give the node that domain",
        ),
        ("a = Relu (x) y = custom.Foo (a)", "node 2, a Foo giving y, is custom::Foo", "a function of that name"),
    ],
)
def test_a_node_without_a_name_is_told_by_its_number_and_what_it_gives(
    nodes: str, where: str, cure: str, tmp_path: Path
) -> None:
    head = '<ir_version: 10, opset_import: ["" : 21, "custom" : 1]> g (float[N] x) => (float[N] y)'
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(f"{head} {{ {nodes} }}"), path)
    with pytest.raises(PrimsplitError) as caught:
        ps.load(path)
    assert where in str(caught.value)
    assert cure in str(caught.value)
    assert len(str(caught.value).splitlines()) < 10
