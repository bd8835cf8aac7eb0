"""Files that are no model: a sentence that says what is wrong."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import primsplit as ps
from primsplit.ir.errors import ParseError, PrimsplitError, ShapeError, UnsupportedFunction
from tests.onnx.checks import refused
from tests.onnx.edits import (
    Edit,
    W,
    attribute,
    cleared,
    doubling,
    field,
    functions,
    linear,
    node,
    opsets,
    rank_two,
    sparse,
    twice,
    weights,
    with_nodes,
    written,
)

X = "graph.input.0.type.tensor_type.elem_type"
Y = "graph.output.0.type.tensor_type.elem_type"
EMPTY = with_nodes(node("Constant", "", "c"), node("Add", "x c", "y"))
FULL = with_nodes(node("Constant", "", "c", value_int=1, value_float=2.0))
CYCLE = with_nodes(node("Add", "x b", "a"), node("Neg", "a", "b"), node("Neg", "a", "y"))


def as_input(dtype: int, shape: list[int | str]) -> Edit:
    """The weights are the default of an input of this type."""
    return lambda model: model.graph.input.append(helper.make_tensor_value_info("W", dtype, shape))


def scan(count: int) -> Edit:
    """The nodes are one Scan of x, along so many of its inputs."""
    ends = [helper.make_tensor_value_info(name, 1, [3]) for name in ("a", "b")]
    body = helper.make_graph([node("Tanh", "a", "b")], "body", ends[:1], ends[1:])
    return with_nodes(node("Scan", "x", "y", body=body, num_scan_inputs=count))


REFUSED: dict[str, tuple[Edit, type[PrimsplitError], str]] = {
    "a cycle": (
        CYCLE,
        ParseError,
        "sorted",
    ),
    "a node that reads itself": (with_nodes(node("Add", "x y", "y")), ParseError, "sorted"),
    "an input that nothing defines": (with_nodes(node("Add", "x nowhere", "y")), ParseError, "nowhere"),
    "a name defined twice": (with_nodes(node("Neg", "x", "y"), node("Abs", "x", "y")), ParseError, "'y'"),
    "an input written to": (with_nodes(node("Neg", "x", "x"), node("Neg", "x", "y")), ParseError, "'x'"),
    "an input twice": (twice("input"), ParseError, "'x'"),
    "an initializer twice": (twice("initializer"), ParseError, "two initializers"),
    "an output twice": (twice("output"), ParseError, "an output twice"),
    "no outputs": (cleared("graph.output"), ParseError, "no outputs"),
    "an output that nothing defines": (field("graph.output.0.name", "nowhere"), ParseError, "nowhere"),
    "an output of another dtype": (
        field(Y, TensorProto.INT64),
        ParseError,
        "declared int64",
    ),
    "an input without a name": (field("graph.input.0.name", ""), ParseError, "name"),
    "an input without a type": (cleared("graph.input.0.type"), ParseError, "type"),
    "an input of no known dtype": (field(X, 77), ParseError, "unknown data type 77"),
    "an operator of no name": (with_nodes(node("", "x", "y")), ParseError, "op_type"),
    "an operator that is none": (with_nodes(node("Frobnicate", "x", "y")), ParseError, "Frobnicate"),
    "too few inputs": (with_nodes(node("MatMul", "x", "y")), ParseError, "input size 1"),
    "too many inputs": (with_nodes(node("Tanh", "x x x", "y")), ParseError, "input size 3"),
    "too many outputs": (with_nodes(node("Tanh", "x", "y a b")), ParseError, "output size 3"),
    "a needed input left out": (with_nodes(helper.make_node("MatMul", ["x", ""], ["y"])), ParseError, "input 1"),
    "matrices that do not fit": (weights(dims=[2, 3]), ShapeError, "inner sizes 3 and 2"),
    "parts without sizes or a number": (
        lambda model: (opsets(18)(model), with_nodes(node("Split", "x", "y z"))(model)),
        ParseError,
        "neither the sizes",
    ),
    "an attribute of another type": (with_nodes(node("Softmax", "x", "y", axis=1.5)), ParseError, "axis"),
    "an attribute that lies about its type": (attribute(type=onnx.AttributeProto.TENSOR), ParseError, "axis"),
    "an attribute without a type": (attribute(type=0), ParseError, "axis"),
    "an attribute that is none": (with_nodes(node("Softmax", "x", "y", frob=1)), ParseError, "frob"),
    "a reference outside of a function": (attribute(ref_attr_name="a"), ParseError, "refers to an attribute"),
    "axes that are no permutation": (with_nodes(node("Transpose", "x", "y", perm=[0, 7])), ShapeError, r"\[0, 7\]"),
    "a Constant without a value": (
        with_nodes(node("Constant", "", "c"), node("Add", "x c", "y")),
        ParseError,
        "0 values",
    ),
    "a Constant with two": (
        with_nodes(node("Constant", "", "c", value_int=1, value_float=2.0)),
        ParseError,
        "2 values",
    ),
    "a sparse tensor with indices outside": (sparse([6]), ParseError, "indices outside of its shape"),
    "one with a row outside": (sparse([[0, 2]]), ParseError, "indices outside of its shape"),
    "one with a negative index": (sparse([-1]), ParseError, "indices outside of its shape"),
    "one with rows of another rank": (sparse([[0, 1, 0]]), ParseError, r"int64\[1, 3\]"),
    "one with fewer numbers than indices": (sparse([0, 1]), ParseError, r"int64\[2\]"),
    "one beyond all memory": (sparse([0], (2**31, 2**31)), ParseError, "would take"),
    "one that is too large when whole": (sparse([0], (2**20, 2**10)), UnsupportedFunction, "4,294,967,296 bytes"),
    "an initializer of another size than its input": (as_input(1, [3, 1]), ParseError, "W is not of the type of its"),
    "an initializer of another rank": (as_input(1, [3, 2, 1]), ParseError, "W is not of the type of its input"),
    "an initializer of another dtype": (as_input(11, [3, 2]), ParseError, "W is not of the type of its input"),
    "a Scan along too many inputs": (scan(2**40), ParseError, "Scan has 1 inputs, and cannot walk along 1099511627776"),
    "a Scan along no input": (scan(0), ParseError, "Scan has 1 inputs, and cannot walk along 0"),
    "no opset": (cleared("opset_import"), ParseError, "opset"),
    "two opsets": (opsets(17, 9), ParseError, r"\[17, 9\]"),
    "opset 0": (opsets(0), UnsupportedFunction, "opset 0"),
    "opset 999": (opsets(999), UnsupportedFunction, "opset 999"),
    "a domain's version that the checker has no number for": (
        lambda model: model.opset_import.append(helper.make_opsetid("own", 2**31)),
        ParseError,
        "version 2147483648",
    ),
    "no version": (field("ir_version", 0), ParseError, "no version"),
    "a version to come": (field("ir_version", 99), ParseError, "99"),
    "a function that calls itself": (functions("f0"), ParseError, "recursive|calls itself"),
    "functions that call each other": (functions("f1", "f0"), ParseError, "recursive|calls itself"),
    "functions of a billion nodes": (doubling, ParseError, "would have 1,073,741,824 nodes"),
    "an input beyond all memory": (rank_two(2**62, 2**62), ParseError, "would take"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_model_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    edit, error, words = REFUSED[name]
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "data.bin").write_bytes(W.tobytes())
    (folder / "data.bin").write_bytes(W.tobytes())
    (folder / "link").symlink_to(tmp_path / "data.bin")
    model = linear()
    edit(model)
    refused(written(folder, model), error, words)


@pytest.mark.parametrize("shape", [[3, 2], ["K", 2], [-1, 2], None])
def test_an_initializer_is_of_the_type_of_its_input_as_far_as_that_is_told(
    shape: list[int | str] | None, tmp_path: Path
) -> None:
    model = linear()
    as_input(1, shape or [])(model)
    if shape is None:
        model.graph.input[1].type.tensor_type.ClearField("shape")
    assert ps.load(written(tmp_path, model)).block.results


def deep_branches(depth: int) -> bytes:
    """If in If, so deep that only its bytes can be put together."""

    def number(value: int) -> bytes:
        return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + number(value >> 7)

    def message(position: int, content: bytes) -> bytes:
        return number(position << 3 | 2) + number(len(content)) + content

    graph = helper.make_graph([node("Neg", "x", "y")], "g", [], [helper.make_tensor_value_info("y", 1, ["N", 3])])
    body = graph.SerializeToString()
    for _ in range(depth):
        branch = message(1, b"then_branch") + message(6, body) + number(20 << 3) + number(5)
        body = message(1, node("If", "c", "y").SerializeToString() + message(5, branch))
    model = onnx.ModelProto(ir_version=8)
    model.opset_import.append(helper.make_opsetid("", 17))
    return model.SerializeToString() + message(7, body)


def test_graphs_a_thousand_deep_are_refused(tmp_path: Path) -> None:
    refused(written(tmp_path, deep_branches(1000)), ParseError, "no valid model")


def test_padding_that_no_size_can_undo_is_refused(tmp_path: Path) -> None:
    """The gradient of a Conv pads by the negative, which int64 does not hold."""
    text = f"""<ir_version: 8, opset_import: ["" : 18]> g (float[1,1,k] x) => (float[1,1,m] y)
        <float[1,1,1] w = {{1.0}}> {{ y = Conv <pads = [{-(2**63)}, 0]> (x, w) }}"""
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(text), path)
    with pytest.raises(PrimsplitError, match=r"none that an array can have|must not contain negative values"):
        ps.split(ps.load(path))


SCALARS = {
    "axes of ReduceSum": "a = Constant<value: tensor = int64 {1}>() y = ReduceSum(x, a)",
    "axes of Squeeze": "a = Constant<value: tensor = int64 {1}>() y = Squeeze(x, a)",
    "shape of Reshape": "a = Constant<value: tensor = int64 {2}>() y = Reshape(x, a)",
    "repeats of Tile": "a = Constant<value: tensor = int64 {2}>() y = Tile(x, a)",
    "starts of Slice": "a = Constant<value: tensor = int64 {0}>() y = Slice(x, a, a)",
    "pads of Pad": "a = Constant<value: tensor = int64 {1}>() y = Pad(x, a)",
    "input of ConstantOfShape": "a = Constant<value: tensor = int64 {2}>() y = ConstantOfShape(a)",
}


@pytest.mark.parametrize("told", SCALARS)
def test_a_number_in_the_place_of_a_vector_is_refused_at_its_node(told: str, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(
        onnx.parser.parse_model(
            f'<ir_version: 9, opset_import: ["": 21]> g (float[2,1] x) => (float y) {{ {SCALARS[told]} }}'
        ),
        path,
    )
    with pytest.raises(ShapeError, match=f"{told} must be a vector, not int64") as caught:
        ps.load(path)
    assert told.rsplit(maxsplit=1)[-1] in str(caught.value).splitlines()[1]


def test_one_axis_of_an_unsqueeze_may_be_a_number(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    text = "s = Shape(x) a = Constant<value: tensor = int64 {0}>() t = Unsqueeze(s, a) y = Unsqueeze(x, a)"
    onnx.save(
        onnx.parser.parse_model(
            f'<ir_version: 9, opset_import: ["": 21]> g (float[2,3] x) => (int64[1,2] t, float[1,2,3] y) {{ {text} }}'
        ),
        path,
    )
    program, x = ps.load(path), np.ones((2, 3), np.float32)
    assert program(x)[0].tolist() == [[2, 3]]
    np.testing.assert_array_equal(ps.split(program, of="y").joint()(x, 2 * x[None])[-1], 2 * x)
