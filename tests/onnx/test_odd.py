"""Odd models that are right: sizes of any name, unknown ranks, data behind links, deep chains."""

from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from tests.onnx.checks import runs
from tests.onnx.edits import W, cleared, linear, node, with_nodes, written


@pytest.mark.parametrize("name", ["x", "W"])
def test_an_output_that_is_an_input_or_a_weight_has_a_name_of_its_own(name: str, tmp_path: Path) -> None:
    model = linear()
    rows = helper.make_tensor_value_info(name, 1, [None, 2] if name == "W" else [None, 3])
    model.graph.output.append(rows)
    joint = ps.split(ps.load(written(tmp_path, model)), wrt=["x", "W"], seed="ones").joint()
    assert joint.outputs == ("y", f"{name}_1", "d_x", "d_W")
    x = np.ones((2, 3), np.float32)
    given = {"x": x, "W": W}
    found = dict(zip(joint.outputs, joint(*(given[i] for i in joint.inputs)), strict=True))
    np.testing.assert_array_equal(found[f"{name}_1"], given[name])
    slope = 1 - np.tanh(x @ W) ** 2
    np.testing.assert_allclose(found["d_x"], slope @ W.T + (name == "x"), atol=1e-5)
    np.testing.assert_allclose(found["d_W"], x.T @ slope + (name == "W"), atol=1e-5)


def test_inputs_and_outputs_of_unknown_rank_are_admitted(tmp_path: Path) -> None:
    model = linear()
    cleared("graph.output.0.type.tensor_type.shape")(model)
    runs(written(tmp_path, model), tmp_path)
    cleared("graph.input.0.type.tensor_type.shape")(model)
    program = ps.load(written(tmp_path, model))
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(program(x), np.tanh(x @ W), rtol=1e-6)
    slope = ps.split(program, wrt="x", seed="ones").joint()(x)[1]
    np.testing.assert_allclose(slope, (1 - np.tanh(x @ W) ** 2) @ W.T, atol=1e-5)


def test_long_weights_are_not_handed_to_what_checks_and_infers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    check = onnx.checker.check_model
    monkeypatch.setattr(onnx.checker, "check_model", lambda m: (sizes.append(m.ByteSize()), check(m))[1])
    model = linear()
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((3, 100_000), np.float32), "W"))
    program = ps.load(written(tmp_path, model))
    assert max(sizes) < 1000
    assert program(np.ones((1, 3), np.float32)).shape == (1, 100_000)


def test_a_chain_deeper_than_pythons_stack_is_loaded_differentiated_and_written(tmp_path: Path) -> None:
    steps = 1500
    model = linear()
    with_nodes(
        *(
            helper.make_node("Sin", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < steps - 1 else "y"])
            for i in range(steps)
        )
    )(model)
    del model.graph.initializer[:]
    out = str(tmp_path / "out.onnx")
    made = ps.split(ps.load(written(tmp_path, model)))
    assert len(made.pullback.ops) == 2 * steps
    made.save(out)
    assert len(onnx.load(out).graph.node) == 3 * steps


@pytest.mark.parametrize("keepdims", [-3, 2])
def test_axes_are_kept_for_a_flag_of_1_alone(keepdims: int, tmp_path: Path) -> None:
    """So onnxruntime reads other numbers, which the standard does not know."""
    model = linear()
    with_nodes(node("MatMul", "x W", "z"), node("ReduceSum", "z", "y", keepdims=keepdims))(model)
    cleared("graph.output.0.type.tensor_type.shape")(model)
    path = written(tmp_path, model)
    x = np.ones((4, 3), np.float32)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": x})[0]
    found = ps.load(path)(x)
    assert found.shape == expected.shape == ()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_rows_keep_their_axis_for_any_flag_but_0(tmp_path: Path) -> None:
    model = linear()
    rows = [node("SplitToSequence", "x", "s", axis=0, keepdims=2), node("ConcatFromSequence", "s", "z", axis=0)]
    with_nodes(*rows, node("MatMul", "z W", "y"))(model)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 4
    x = np.ones((4, 3), np.float32)
    path = written(tmp_path, model)
    np.testing.assert_allclose(ps.load(path)(x), onnxruntime.InferenceSession(path).run(None, {"x": x})[0])
