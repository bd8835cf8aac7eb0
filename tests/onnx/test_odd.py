"""Odd models that are right: sizes of any name, unknown ranks, data behind links, deep chains."""

from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir.errors import FileError
from tests.onnx.edits import W, cleared, external, linear, node, rank_two, weights, with_nodes, written


def runs(path: str, folder: Path, rows: int = 4) -> None:
    """The gradient file is valid, and gives the model's own numbers and the gradient by hand."""
    out = str(folder / "gradient.onnx")
    ps.split(ps.load(path), wrt="x").save(out)
    onnx.checker.check_model(out, full_check=True)
    x = np.linspace(-0.3, 0.3, rows * 3, dtype=np.float32).reshape(rows, 3)
    ones = np.ones((rows, 2), np.float32)
    y, dx = onnxruntime.InferenceSession(out).run(None, {"x": x, "d_y": ones})
    np.testing.assert_allclose(y, np.tanh(x @ W), rtol=1e-5)
    np.testing.assert_allclose(dx, (1 - np.tanh(x @ W) ** 2) @ W.T, rtol=1e-4, atol=1e-5)


NAMES = ["batch size", "N+1", "2*N", "a/b", "a,b", "N)", "(", "max(", "2N", "1e9", "é", " ", "N\n", "`", "class"]
NAMELESS = ["", "?", "*", "-1", "None", "0", "3", "N-N", "N//0", "floordiv(N, 0)"]
LONG = ["9" * 5000, "(" * 3000, "N+" * 3000 + "1", "x" * 500]


@pytest.mark.parametrize("name", NAMES + NAMELESS + LONG, ids=lambda n: repr(n[:16]))
def test_a_size_may_have_any_name(name: str, tmp_path: Path) -> None:
    model = linear()
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = name
    runs(written(tmp_path, model), tmp_path)


@pytest.mark.parametrize("name", NAMELESS)
def test_sizes_without_a_name_of_their_own_are_not_taken_for_the_same(name: str, tmp_path: Path) -> None:
    model = linear()
    model.graph.input.append(helper.make_tensor_value_info("b", 1, [name, 2]))
    with_nodes(node("MatMul", "x W", "z"), node("Add", "z b", "y"))(model)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    program = ps.load(written(tmp_path, model))
    gradient = ps.split(program, wrt="b", seed="ones").joint()(np.ones((4, 3), np.float32), np.ones((1, 2), np.float32))
    np.testing.assert_array_equal(gradient[1], [[4, 4]])


def test_a_size_that_a_model_names_is_no_other_size_that_gets_a_name(tmp_path: Path) -> None:
    model = linear()
    model.graph.input.append(helper.make_tensor_value_info("b", 1, ["x_0_999999", 2]))
    cleared("graph.input.0.type.tensor_type.shape.dim.0.dim_param")(model)
    for number in range(3):
        model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = f"x_0_{_next_number() + 1 + number}"
        with_nodes(node("MatMul", "x W", "z"), node("Add", "z b", "y"))(model)
        program = ps.load(written(tmp_path, model))
        first, second = (t.shape for t in program.types)
        assert str(first) != str(second)
        assert first is not None
        assert second is not None
        assert str(first[0]) != str(second[0])


def _next_number() -> int:
    from primsplit.ops.inference import fresh

    return int(str(fresh("probe")).rpartition("_")[2])


def test_a_negative_size_is_one_that_the_exporter_did_not_know(tmp_path: Path) -> None:
    model = linear()
    rank_two(-1, 3)(model)
    runs(written(tmp_path, model), tmp_path)


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


def test_external_data_in_the_folder_are_read_even_through_a_link_inside_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "data.bin").write_bytes(b"\0" * 8 + W.tobytes())
    (tmp_path / "link").symlink_to(tmp_path / "real" / "data.bin")
    model = linear()
    external(location="link", offset=8, length=24)(model)
    runs(written(tmp_path, model), tmp_path)


def test_a_model_in_a_cache_of_links_finds_its_data_beside_the_file_it_is(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    model = linear()
    external(location="data.bin")(model)
    (tmp_path / "blobs" / "1a").write_bytes(model.SerializeToString())
    (tmp_path / "blobs" / "2b").write_bytes(W.tobytes())
    (tmp_path / "snapshot" / "model.onnx").symlink_to(tmp_path / "blobs" / "1a")
    (tmp_path / "snapshot" / "data.bin").symlink_to(tmp_path / "blobs" / "2b")
    runs(str(tmp_path / "snapshot" / "model.onnx"), tmp_path)


def test_data_that_vanish_after_loading_are_named(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(W.tobytes())
    model = linear()
    weights(dims=[3, 200])(model)
    (tmp_path / "data.bin").write_bytes(bytes(2400))
    external(location="data.bin")(model)
    program = ps.load(written(tmp_path, model))
    (tmp_path / "data.bin").unlink()
    with pytest.raises(FileError, match="cannot read the data of W"):
        ps.split(program).save(str(tmp_path / "out.onnx"))
    assert not (tmp_path / "out.onnx").exists()


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
