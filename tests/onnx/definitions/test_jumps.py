"""A derivative through a model whose value jumps is refused by name, or 0 where that is taken for a constant."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.ir.errors import MissingRule, SpecError

MODEL = """<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
    pipeline (float[N, 2] x, float[2] w) => (float[N, 2] y) {
        scaled = ai.onnx.ml.Scaler<offset = [0.5], scale = [2.0]>(x)
        [step] jumped = %s(scaled)
        y = Mul(jumped, w)
    }"""
TREE = (
    "ai.onnx.ml.TreeEnsembleRegressor<n_targets = 2, nodes_featureids = [0, 0, 0], nodes_falsenodeids = [2, 0, 0],"
    'nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids = [0, 1, 2], nodes_treeids = [0, 0, 0],'
    "nodes_truenodeids = [1, 0, 0], nodes_values = [0.0, 0.0, 0.0], target_ids = [0, 1], target_nodeids = [1, 2],"
    "target_treeids = [0, 0], target_weights = [3.0, 5.0]>"
)
STEPS = {
    "TreeEnsembleRegressor": (TREE, "between its thresholds"),
    "Binarizer": ("ai.onnx.ml.Binarizer<threshold = 0.25>", "both sides of its threshold"),
    "LabelEncoder": (
        "ai.onnx.ml.LabelEncoder<keys_floats = [0.0], values_floats = [3.0], default_float = 1.0>",
        "looked up among keys",
    ),
}
X, W = np.array([[0.25, 0.5], [1.0, 2.0]], np.float32), np.array([2.0, 4.0], np.float32)


def saved(name: str, folder: Path) -> str:
    onnx.save(onnx.parser.parse_model(MODEL % STEPS[name][0]), folder / "pipeline.onnx")
    return str(folder / "pipeline.onnx")


@pytest.mark.parametrize("name", STEPS)
def test_a_gradient_through_it_is_refused_with_its_name_its_node_and_the_ways_out(name: str, tmp_path: Path) -> None:
    model = ps.load(saved(name, tmp_path))
    with pytest.raises(MissingRule) as caught:
        ps.split(model, wrt="x")
    told = str(caught.value)
    assert told.startswith(f"{name} has no derivative: its value is")
    assert STEPS[name][1] in told
    assert "at pipeline.onnx:2 in step" in told
    assert "because it depends on x" in told
    assert f'constant=["{name}"]' in told
    assert f"--constant {name}" in told


TRANSFORMS = {
    "grad": lambda f, x: ps.grad(lambda x: np.sum(f(x)))(x),
    "jvp": lambda f, x: ps.jvp(f, (x,), (x,)),
    "hvp": lambda f, x: ps.value_grad_and_hvp(lambda x: np.sum(f(x)))(x, x),
    "jacobian": lambda f, x: ps.jacobian(f)(x),
    "grad of vmap": lambda f, x: ps.grad(lambda x: np.sum(ps.vmap(lambda row: f(row[None]))(x)))(x),
    "vmap of grad": lambda f, x: ps.vmap(ps.grad(lambda row: np.sum(f(row[None]))))(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_so_is_every_other_derivative(name: str, tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path))
    with pytest.raises(MissingRule, match="TreeEnsembleRegressor has no derivative"):
        TRANSFORMS[name](lambda x: model(x, W), X)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_is_taken_for_a_constant_has_none_in_any(name: str, tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=["step"])
    found = TRANSFORMS[name](lambda x: model(x, W), X)
    *_, derivative = found if isinstance(found, tuple) else (found,)
    assert not np.any(derivative)


def test_what_does_not_go_through_it_is_differentiated(tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path))
    np.testing.assert_array_equal(model(X, W), [[6.0, 0.0], [0.0, 20.0]])
    slope = ps.split(model, wrt="w").joint()(X, W, np.ones((2, 2), np.float32))[1]
    np.testing.assert_array_equal(slope, [3.0, 5.0])
    slope = ps.grad(lambda x: np.sum(x**2) + np.sum(ps.stop_gradient(model(x, W))))(X)
    np.testing.assert_array_equal(slope, 2 * X)
    slope = ps.grad(lambda x: np.sum(x * model(ps.stop_gradient(x), W)))(X)
    np.testing.assert_array_equal(slope, model(X, W))


@pytest.mark.parametrize("name", ["step", "TreeEnsembleRegressor", "ai.onnx.ml::TreeEnsembleRegressor"])
def test_a_constant_is_named_by_its_node_or_its_operator(name: str, tmp_path: Path) -> None:
    made = ps.split(ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=[name]), wrt=["x", "w"])
    _, by_x, by_w = made.joint()(X, W, np.ones((2, 2), np.float32))
    np.testing.assert_array_equal(by_x, np.zeros_like(X))
    np.testing.assert_array_equal(by_w, [3.0, 5.0])
    (row,) = made.zero_table()
    assert row["through"] == ["stop_gradient at pipeline.onnx:2 in step"]


def test_a_differentiable_node_may_be_a_constant_too(tmp_path: Path) -> None:
    model = ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=["Scaler"])
    assert not np.any(ps.split(model, wrt="x").joint()(X, W, np.ones((2, 2), np.float32))[1])


def test_the_tensors_of_a_sequence_are_constants_where_its_node_is(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 18]>
        listed (float[2] x) => (float y) {
            [pair] both = SequenceConstruct(x, x)
            one = Constant<value = int64 {1}>()
            second = SequenceAt(both, one)
            product = Mul(second, x)
            y = ReduceSum<keepdims = 0>(product)
        }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "listed.onnx")
    x = np.array([2.0, 3.0], np.float32)
    np.testing.assert_array_equal(ps.grad(ps.load(tmp_path / "listed.onnx"))(x), 2 * x)
    np.testing.assert_array_equal(ps.grad(ps.load(tmp_path / "listed.onnx", constant=["pair"]))(x), x)


def test_a_constant_that_no_node_is_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no node and no operator Floor"):
        ps.load(saved("TreeEnsembleRegressor", tmp_path), constant=["step", "Floor"])


def test_the_sign_of_a_machine_of_one_class_is_refused_and_its_score_is_not(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]>
        machine (float[N, 2] x) => (float y) {
            scores = ai.onnx.ml.SVMRegressor<coefficients = [2.0, 3.0], rho = [1.0], one_class = %d>(x)
            y = ReduceSum<keepdims = 0>(scores)
        }"""
    slopes: dict[int, Any] = {}
    for one_class in (0, 1):
        onnx.save(onnx.parser.parse_model(text % one_class), tmp_path / "machine.onnx")
        slopes[one_class] = ps.grad(ps.load(tmp_path / "machine.onnx"))
    np.testing.assert_array_equal(slopes[0](X), [[2.0, 3.0], [2.0, 3.0]])
    with pytest.raises(MissingRule, match="SVMRegressor has no derivative: of one class, its value is a sign"):
        slopes[1](X)


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
