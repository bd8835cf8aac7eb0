"""`primsplit grad`: an ONNX model's gradient from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.utils
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from typer.testing import CliRunner

import primsplit as ps
from primsplit.cli.app import app
from primsplit.ir.errors import SpecError

W = np.arange(6, dtype=np.float32).reshape(3, 2)


def model(folder: Path) -> str:
    """x @ W, summed."""
    nodes = [helper.make_node("MatMul", ["x", "W"], ["z"]), helper.make_node("ReduceSum", ["z"], ["y"], keepdims=0)]
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", 1, ["N", 3])],
        [helper.make_tensor_value_info("y", 1, [])],
        [numpy_helper.from_array(W, "W")],
    )
    path = str(folder / "linear.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_the_gradient_of_a_weight_is_written_beside_the_value(tmp_path: Path) -> None:
    out = tmp_path / "gradient.onnx"
    done = CliRunner().invoke(app, ["grad", model(tmp_path), "--wrt", "W", "--of", "y", "--onnx", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert [o["name"] for o in json.loads(done.output)["outputs"]] == ["y", "d_W"]
    onnx.checker.check_model(str(out), full_check=True)
    x = np.ones((4, 3), np.float32)
    session = onnxruntime.InferenceSession(str(out))
    value, gradient = session.run(None, {"x": x, "W": 2 * W})
    assert value == 2 * W.sum() * 4
    np.testing.assert_array_equal(gradient, np.full((3, 2), 4))
    assert [i.name for i in session.get_inputs()] == ["x", "W"]  # which is what JavaScript can be given


@pytest.mark.parametrize("command", ["grad", "export"])
@pytest.mark.parametrize("form", ["joint", "split"])
def test_a_differentiated_weight_keeps_its_numbers_where_asked(command: str, form: str, tmp_path: Path) -> None:
    out = tmp_path / "gradient.onnx"
    told = [command, model(tmp_path), "--wrt", "W", "--weights", "defaults", "--form", form, "--onnx", str(out)]
    done = CliRunner().invoke(app, told)
    assert done.exit_code == 0, done.output
    session = onnxruntime.InferenceSession(str(out if form == "joint" else tmp_path / "gradient.forward.onnx"))
    assert [i.name for i in session.get_overridable_initializers()] == ["W"]
    x = np.ones((4, 3), np.float32)
    assert session.run(["y"], {"x": x}) == [W.sum() * 4]
    assert session.run(["y"], {"x": x, "W": 2 * W}) == [2 * W.sum() * 4]


def test_another_way_to_take_weights_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["grad", model(tmp_path), "--wrt", "W", "--weights", "constants"])
    assert done.exit_code != 0
    assert "is not one of inputs, defaults" in done.output
    other: Any = "constants"
    with pytest.raises(SpecError, match="weights='constants' is none of inputs, defaults"):
        ps.export(ps.load(model(tmp_path)), wrt="W", path=tmp_path / "g.onnx", weights=other)


def test_constants_and_merged_parameters_are_named(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[N,2] x) => (float[N,2] y)
        <float[2] norm1 = {1, 1}, float[1] val_7 = {0.5}, float[2,2] W = {1, 2, 3, 4}>
        { a = Mul (x, norm1) b = MatMul (a, W) c = Mul (b, val_7) y = Mul (c, norm1) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    told = ["grad", str(tmp_path / "m.onnx"), "--wrt", "params", "--onnx", str(tmp_path / "g.onnx")]
    shown = " ".join(CliRunner().invoke(app, told).output.split())
    assert "val_7 is no weight: it is one number, under a name that exporters give to numbers of the code" in shown
    assert "norm1 is one number everywhere, and read by 2 operators" in shown
    answer = json.loads(CliRunner().invoke(app, [*told, "--json"]).output)
    assert list(answer["left_out"]) == ["val_7"]
    assert answer["merged"] == [{"name": "norm1", "readers": 2}]
    assert [o["name"] for o in answer["outputs"]] == ["y", "d_norm1", "d_W"]


def test_an_unknown_weight_is_refused_with_the_names_there_are(tmp_path: Path) -> None:
    out = tmp_path / "gradient.onnx"
    done = CliRunner().invoke(app, ["grad", model(tmp_path), "--wrt", "weight", "--onnx", str(out)])
    assert done.exit_code != 0
    assert not out.exists()


NEAREST = {
    "a typing error in wrt": (["--wrt", "layer.weigth"], "The nearest name is layer.weight."),
    "a typing error in of": (["--of", "los"], "The nearest name is loss."),
    "a value inside, by wrt": (["--wrt", "hidden"], "hidden is computed inside of the model."),
    "a value inside, of which": (["--of", "hidden"], "onnx.utils.extract_model(path, part, inputs, outputs)"),
}


@pytest.mark.parametrize("name", NEAREST)
def test_what_is_asked_for_and_is_not_there_is_told_with_the_nearest_name(name: str, tmp_path: Path) -> None:
    asked, told = NEAREST[name]
    proto = onnx.load(model(tmp_path))
    renamed = {"W": "layer.weight", "z": "hidden", "y": "loss"}
    for node in proto.graph.node:
        node.input[:] = [renamed.get(n, n) for n in node.input]
        node.output[:] = [renamed.get(n, n) for n in node.output]
    proto.graph.initializer[0].name, proto.graph.output[0].name = "layer.weight", "loss"
    onnx.save(proto, tmp_path / "renamed.onnx")
    done = CliRunner().invoke(app, ["grad", str(tmp_path / "renamed.onnx"), *asked])
    assert done.exit_code != 0
    assert told in done.output
    assert len(done.output.splitlines()) < 10
    part = str(tmp_path / "part.onnx")
    onnx.utils.extract_model(str(tmp_path / "renamed.onnx"), part, ["hidden"], ["loss"])
    assert CliRunner().invoke(app, ["grad", part, "--wrt", "hidden", "--of", "loss"]).exit_code == 0


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model")
    done = CliRunner().invoke(app, ["grad", str(bad), "--onnx", str(tmp_path / "out.onnx")])
    assert done.exit_code != 0
    assert not (tmp_path / "out.onnx").exists()


def test_a_model_of_integers_alone_says_which_weights_there_are(tmp_path: Path) -> None:
    node = helper.make_node("Gather", ["table", "tokens"], ["y"])
    graph = helper.make_graph(
        [node],
        "embedding",
        [helper.make_tensor_value_info("tokens", 7, ["N"])],
        [helper.make_tensor_value_info("y", 1, ["N", 2])],
        [numpy_helper.from_array(W, "table")],
    )
    path, out = str(tmp_path / "embedding.onnx"), tmp_path / "gradient.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    for form in ("joint", "split"):
        done = CliRunner().invoke(app, ["export", path, "--onnx", str(out), "--form", form])
        assert done.exit_code == 1
        assert "nothing to differentiate" in done.output
        assert "table" in done.output
        assert "--wrt" in done.output
        assert not out.exists()
    done = CliRunner().invoke(app, ["export", path, "--onnx", str(out), "--wrt", "params"])
    assert done.exit_code == 0, done.output


def test_a_gradient_that_is_zero_everywhere_is_told_with_what_stops_it(tmp_path: Path) -> None:
    source, out = tmp_path / "steps.py", tmp_path / "steps.onnx"
    source.write_text("import numpy as np\ndef f(x, y, z):\n    return np.sum(np.floor(x)) * len(y) + z\n")
    wanted = ["export", str(source), *(a for n in ("x:f64[3]", "y:f64[2]", "z:f64[]") for a in ("--spec", n))]
    done = CliRunner().invoke(app, [*wanted, "--onnx", str(out)])
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert (
        "d_x is 0: x acts on the results through operators without a tangent alone: Floor at steps.py:3 in f." in told
    )
    assert "d_y is 0: y acts on no result." in told
    assert "d_z is 0" not in told
    given = {"x": np.array([0.5, 1.5, 2.5]), "y": np.ones(2), "z": np.array(1.0)}
    assert [float(np.sum(v)) for v in onnxruntime.InferenceSession(str(out)).run(None, given)] == [7.0, 0.0, 0.0, 1.0]


def test_a_result_without_a_gradient_is_told_by_its_name(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y, int64[1, K] places) {'
    onnx.save(onnx.parser.parse_model(text + " y = Sin(x) places = NonZero(x) }"), tmp_path / "places.onnx")
    done = CliRunner().invoke(app, ["grad", str(tmp_path / "places.onnx"), "--of", "places"])
    assert done.exit_code != 0
    assert "of='places' is int64, which has no gradient" in done.output
