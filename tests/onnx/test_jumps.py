"""A file tells the operators that jump, so that a derivative through them is refused when it is loaded again."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule
from tests.onnx.jumping import STEPS, TREE, W, X, saved


@pytest.mark.parametrize("name", STEPS)
def test_a_file_that_is_written_of_it_refuses_it_too(name: str, tmp_path: Path) -> None:
    program = ps.load(saved(name, tmp_path))
    program.save(tmp_path / "written.onnx")
    ps.split(program, wrt="w", seed="ones").joint().save(tmp_path / "gradient.onnx")
    for path in (tmp_path / "written.onnx", tmp_path / "gradient.onnx"):
        ps.load(path).save(tmp_path / "again.onnx")
        for model in (ps.load(path), ps.load(tmp_path / "again.onnx")):
            with pytest.raises(MissingRule, match=rf"^{name} has no derivative: its value is .*{STEPS[name][1]}"):
                ps.split(model, wrt="x", of=model.outputs[0], seed="ones")
            by_w = ps.split(model, wrt="w", of=model.outputs[0], seed="ones").joint()
            np.testing.assert_allclose(by_w(X, W)[-1], np.sum(program(X, np.ones(2, np.float32)), axis=0), rtol=1e-6)
        told = ps.split(ps.load(path, constant=[name]), wrt="x", of=model.outputs[0], seed="ones").joint()
        np.testing.assert_array_equal(told(X, W)[-1], np.zeros_like(X))
    ps.load(saved(name, tmp_path), constant=[name]).save(tmp_path / "constant.onnx")
    ps.split(ps.load(tmp_path / "constant.onnx"), wrt="x", seed="ones")


def test_metadata_that_name_what_is_not_there_are_told(tmp_path: Path) -> None:
    ps.load(saved("Binarizer", tmp_path)).save(tmp_path / "written.onnx")
    model = onnx.load(tmp_path / "written.onnx")
    (row,) = (row for row in model.metadata_props if row.key == "primsplit.jumps")
    (told,) = json.loads(row.value)
    row.value = json.dumps([{**told, "numbers": ["gone"], "inputs": ["z"]}])
    onnx.save(model, tmp_path / "written.onnx")
    with pytest.raises(ps.PrimsplitError, match=r"the metadata primsplit\.jumps of the file cannot be read"):
        ps.load(tmp_path / "written.onnx")


WEIGHTED = """<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
    pipeline (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2] v = {2, 4}> {
        %s
    }"""

BRANCH = """
    h = MatMul(x, w) s = ReduceSum<keepdims = 0>(x) p = Cast<to = 9>(s)
    j = If(p) <then_branch = a () => (float[N, 2] b) { b = %s(h) },
               else_branch = c () => (float[N, 2] d) { d = Tanh(h) }>
    y = Mul(j, v)
"""

BEFORE = {
    "beside an input": ("h = MatMul(x, w) [step] j = %s(h) y = Mul(j, v)", ["x", "w"]),
    "alone, which is folded": ("h = MatMul(w, w) [step] j = %s(h) [rest] r = Mul(x, v) y = Add(r, j)", ["w"]),
    "transposed, which is t in the file": (
        "t = Transpose(w) h = MatMul(x, t) [step] j = %s(h) y = Mul(j, v)",
        ["x", "w"],
    ),
    "in a branch": (BRANCH, ["x", "w"]),
}


@pytest.mark.parametrize("name", BEFORE)
def test_so_is_a_derivative_by_a_weight_before_it_in_a_file_that_is_loaded_again(name: str, tmp_path: Path) -> None:
    text, before = BEFORE[name]
    onnx.save(onnx.parser.parse_model(WEIGHTED % (text % TREE)), tmp_path / "pipeline.onnx")
    model = ps.load(tmp_path / "pipeline.onnx")
    model.save(tmp_path / "written.onnx")
    ps.split(model, wrt="v", seed="ones").joint().save(tmp_path / "gradient.onnx")
    again = ps.load(tmp_path / "written.onnx")
    again.save(tmp_path / "again.onnx")
    for program in (model, again, ps.load(tmp_path / "again.onnx"), ps.load(tmp_path / "gradient.onnx")):
        for source in {*before, "t"} & {*program.inputs, *program.params}:
            with pytest.raises(MissingRule, match=r"^TreeEnsembleRegressor has no derivative"):
                ps.split(program, wrt=source, of=program.outputs[0], seed="ones")
    expected = ps.split(model, wrt="v", seed="ones").joint()(X, np.array([2.0, 4.0], np.float32))
    for path in ("written", "again"):
        made = ps.split(ps.load(tmp_path / f"{path}.onnx"), wrt="v", seed="ones").joint()
        for found, wanted in zip(made(X, np.array([2.0, 4.0], np.float32)), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_a_file_of_functions_refuses_by_the_weights_that_it_calls_them_with(tmp_path: Path) -> None:
    text = WEIGHTED % (BEFORE["beside an input"][0] % TREE)
    text = text.replace("float[N, 2] x", "float[N, 40] x").replace("float[2, 2] w = {1, 2, 3, 4}, ", "")
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((40, 2), np.float32), "w"))
    onnx.save(proto, tmp_path / "pipeline.onnx")
    made = ps.split(ps.load(tmp_path / "pipeline.onnx"), wrt="v", seed="ones")
    made.save(str(tmp_path / "functions.onnx"), "functions")
    program = ps.load(tmp_path / "functions.onnx")
    for source in ("w", "x"):
        with pytest.raises(MissingRule, match=r"^TreeEnsembleRegressor has no derivative"):
            ps.split(program, wrt=source, of="y", seed="ones")
    ps.split(program, wrt="v", of="y", seed="ones")


def test_a_file_whose_values_have_other_names_refuses_by_its_inputs(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(WEIGHTED % (BEFORE["beside an input"][0] % TREE)), tmp_path / "pipeline.onnx")
    ps.load(tmp_path / "pipeline.onnx").save(tmp_path / "written.onnx")
    proto = onnx.load(tmp_path / "written.onnx")
    for node in proto.graph.node:
        node.input[:] = ["renamed" if n == "h" else n for n in node.input]
        node.output[:] = ["renamed" if n == "h" else n for n in node.output]
    (body,) = (a.g for node in proto.graph.node if node.op_type == "Loop" for a in node.attribute)
    for node in body.node:
        node.input[:] = ["renamed" if n == "h" else n for n in node.input]
    onnx.save(proto, tmp_path / "renamed.onnx")
    with pytest.raises(MissingRule, match=r"^TreeEnsembleRegressor has no derivative"):
        ps.split(ps.load(tmp_path / "renamed.onnx"), wrt="x")
