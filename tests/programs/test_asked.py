"""An argument in `wrt` without a derivative is named with its dtype, and what could be asked for beside it."""

import pathlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import SpecError


def embedding(path: pathlib.Path) -> str:
    """A model of an integer input, an integer weight and two real ones; returns its path."""
    nodes = [
        helper.make_node("Add", ["ids", "offset"], ["shifted"]),
        helper.make_node("Gather", ["table", "shifted"], ["rows"]),
        helper.make_node("MatMul", ["rows", "w"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(np.ones((9, 4), np.float32), "table"),
        numpy_helper.from_array(np.ones((4, 4), np.float32), "w"),
        numpy_helper.from_array(np.array([1]), "offset"),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["n"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
    graph = helper.make_graph(nodes, "g", [ids], [y], weights)
    file = str(path / "m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), file)
    return file


@pytest.mark.parametrize(
    ("wrt", "told"),
    [("ids", "wrt='ids' is an input of int64"), (0, "wrt=0 is an input of int64"), ("offset", "initializer of int64")],
)
def test_an_integer_of_a_model_is_named_with_its_dtype(wrt: int | str, told: str, tmp_path: pathlib.Path) -> None:
    model = ps.load(embedding(tmp_path))
    with pytest.raises(SpecError, match=told) as caught:
        ps.split(model, wrt=wrt)
    text = str(caught.value)
    assert "the initializers of floating point are" in text
    assert "table" in text
    assert "computed inside" not in text
    assert "extract_model" not in text


def test_integers_inside_of_a_model_have_no_derivative_in_a_part_of_it_either(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        SpecError, match="wrt='shifted' is computed inside of the model, of int64, which has no"
    ) as caught:
        ps.split(ps.load(embedding(tmp_path)), wrt="shifted")
    assert "the initializers of floating point are" in str(caught.value)
    assert "extract_model" not in str(caught.value)


@pytest.mark.parametrize(("of", "told"), [("ids", "is an input, no result"), ("table", "is no result")])
def test_an_input_or_weight_is_no_result_that_is_computed(of: str, told: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(SpecError, match=told) as caught:
        ps.split(ps.load(embedding(tmp_path)), wrt="w", of=of)
    assert "computed inside" not in str(caught.value)


def test_a_value_inside_of_a_model_is_told_as_such(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SpecError, match="rows is computed inside of the model"):
        ps.split(ps.load(embedding(tmp_path)), wrt="rows")


@pytest.mark.parametrize("wrt", ["i", 1, ("x", "i")])
def test_an_integer_argument_is_named_with_its_dtype(wrt: str | int | tuple[str, ...]) -> None:
    with pytest.raises(SpecError, match="is an input of int64, which has no derivative") as caught:
        ps.split(lambda x, i: x[i], ps.spec("f64", [3]), ps.spec("i64", []), wrt=wrt)
    assert "the inputs of floating point are x" in str(caught.value)


def test_a_name_that_is_none_is_told_as_no_input() -> None:
    with pytest.raises(SpecError, match="wrt='j' is no input"):
        ps.split(lambda x, i: x[i], ps.spec("f64", [3]), ps.spec("i64", []), wrt="j")
