"""`primsplit run`: arrays in, arrays out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper

MODEL = """
import numpy as np

def loss(params, x):
    return np.sum(x @ params["w"] + params["b"])

def example_inputs():
    return {"params": {"w": np.array([1.0, 2.0]), "b": np.array(0.5)}, "x": np.array([[1.0, 1.0], [2.0, 0.0]])}
"""


@pytest.fixture
def exported(primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path) -> Path:
    path = tmp_path / "loss.onnx"
    assert primsplit("export", model(MODEL), "--onnx", path, "--spec", "x:[N,2]", "--wrt", "params").status == 0
    return path


def test_an_npz_goes_in_and_an_npz_comes_out(primsplit: Callable[..., Any], exported: Path, tmp_path: Path) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    np.savez(tmp_path / "in.npz", **{"params.w": np.array([1.0, -1.0]), "params.b": np.array(2.0), "x": x})
    done = primsplit("run", exported, "--inputs", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    assert done.status == 0, done.error
    with np.load(tmp_path / "out.npz") as out:
        assert sorted(out.files) == ["d_params.b", "d_params.w", "y"]
        assert out["y"] == 3.0
        np.testing.assert_array_equal(out["d_params.w"], [9.0, 12.0])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npz", "loss.onnx", "model.py", "out.npz"]


def test_a_python_file_is_run_at_its_example(primsplit: Callable[..., Any], model: Callable[..., Path]) -> None:
    done = primsplit("run", model(MODEL), "--json")
    found = {o["name"]: o["value"] for o in done.json["outputs"]}
    assert found["y"] == "6.0"
    assert found["d_params.w"] == "[3.0, 1.0]"


def test_inputs_of_which_nobody_says_numbers_are_told_with_the_way_out(
    primsplit: Callable[..., Any], model: Callable[..., Path], exported: Path
) -> None:
    for target in (model("def loss(x: 'f64[N]'): return (x * x).sum()\n", "plain.py"), exported):
        done = primsplit("run", target)
        assert (done.status, "there are no numbers for " in done.error) == (1, True)
        assert "--inputs PATH.npz" in done.error


MODES = [
    ("gradient", {"y": "5.0", "d_x": "[2.0, 4.0]"}),
    ("value", {"y": "5.0"}),
    ("jvp", {"y": "5.0", "t_y": "6.0"}),
    ("hvp", {"y": "5.0", "d_x": "[2.0, 4.0]", "t_d_x": "[2.0, 2.0]"}),
    ("jacobian", {"y": "5.0", "j_x": "[2.0, 4.0]"}),
    ("hessian", {"y": "5.0", "d_x": "[2.0, 4.0]", "h_x": "[[2.0, 0.0], [0.0, 2.0]]"}),
]


@pytest.mark.parametrize(("mode", "wanted"), MODES, ids=[m for m, _ in MODES])
def test_a_python_file_is_run_as_it_is_exported(
    primsplit: Callable[..., Any], model: Callable[..., Path], mode: str, wanted: dict[str, str]
) -> None:
    text = f"""
    import numpy as np

    mode = {mode!r}

    def loss(x):
        return np.sum(x * x)

    def example_inputs():
        return (np.array([1.0, 2.0]),)
    """
    done = primsplit("run", model(text), "--json")
    assert {o["name"]: o["value"] for o in done.json["outputs"]} == wanted


def test_given_inputs_replace_those_of_the_example(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    np.savez(tmp_path / "in.npz", **{"params.b": np.array(10.0)})
    done = primsplit("run", model(MODEL), "--inputs", tmp_path / "in.npz", "--json")
    assert done.json["outputs"][0]["value"] == "25.0"


def test_one_input_and_one_output_may_be_npy(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    path = model("def double(x): return x * 2.0\n")
    np.save(tmp_path / "in.npy", np.array([1.0, 2.0]))
    flags = ("--spec", "x:f64[N]", "--inputs", tmp_path / "in.npy")
    done = primsplit("run", path, *flags, "--out", tmp_path / "out.npy")
    assert (done.status, "d_y missing" in done.error) == (1, False)
    assert "holds one array" in done.error


def test_the_cotangent_of_an_array_is_ones_for_an_example(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model("""
        import numpy as np

        def square(x):
            return x * x

        def example_inputs():
            return (np.array([1.0, 2.0, 3.0]),)
        """)
    done = primsplit("run", path, "--json")
    assert {o["name"]: o["value"] for o in done.json["outputs"]}["d_x"] == "[2.0, 4.0, 6.0]"


def test_bfloat16_goes_through_numpys_files(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    primsplit("export", model("def f(x): return (x * x).sum()\n"), "--spec", "x:bf16[3]", "--onnx", tmp_path / "f.onnx")
    np.savez(tmp_path / "in.npz", x=np.array([1, 2, 3], bfloat16))
    done = primsplit("run", tmp_path / "f.onnx", "--inputs", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    assert done.status == 0, done.error
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out["d_x"].view(bfloat16), np.array([2, 4, 6], bfloat16))


@pytest.mark.parametrize("name", ["int4", "uint4", "float8_e5m2"])
def test_numbers_of_few_bits_go_through_numpys_files(primsplit: Callable[..., Any], name: str, tmp_path: Path) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    number = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [helper.make_node("Cast", ["x"], ["y"], to=1), helper.make_node("Cast", ["y"], ["z"], to=number)]
    ends = [helper.make_tensor_value_info(n, t, ["N"]) for n, t in (("x", number), ("y", 1), ("z", number))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    imports = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), tmp_path / "f.onnx")
    x = np.array([1, 3, 2], np.float32).astype(dtype)
    stored = x.view(np.uint8) if name.startswith("float8") else x
    np.savez(tmp_path / "in.npz", x=stored)
    done = primsplit("run", tmp_path / "f.onnx", "--inputs", tmp_path / "in.npz", "--out", tmp_path / "out.npz")
    assert done.status == 0, done.error
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out["y"], [1, 3, 2])
        np.testing.assert_array_equal(out["z"].view(np.uint8), x.view(np.uint8))


def test_bytes_in_another_order_are_read_and_python_objects_are_told(
    primsplit: Callable[..., Any], exported: Path, tmp_path: Path
) -> None:
    inputs = {"params.w": np.array([1.0, -1.0], ">f8"), "params.b": np.array(2.0), "x": np.ones((1, 2))}
    np.savez(tmp_path / "in.npz", **inputs)
    assert primsplit("run", exported, "--inputs", tmp_path / "in.npz").status == 0
    np.savez(tmp_path / "in.npz", **{**inputs, "x": np.array([[1.0, None]])})
    done = primsplit("run", exported, "--inputs", tmp_path / "in.npz")
    assert (done.status, "x of " in done.error, "Python objects" in done.error) == (1, True, True)


def test_an_array_that_numpy_writes_and_cannot_read_is_told(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones(3, ml_dtypes.float8_e5m2))
    path = tmp_path / "f.onnx"
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=1)],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT8E5M2, [3])],
        [helper.make_tensor_value_info("y", 1, [3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    done = primsplit("run", path, "--inputs", tmp_path / "in.npz")
    assert done.status == 1
    assert "x.view(np.uint8)" in done.error


def test_an_output_path_that_cannot_be_written_is_told(
    primsplit: Callable[..., Any], model: Callable[..., Path], tmp_path: Path
) -> None:
    for where in (tmp_path / "missing" / "out.npz", tmp_path):
        done = primsplit("run", model(MODEL), "--out", where)
        assert (done.status, done.error.startswith("cannot write")) == (1, True)
    assert [p.name for p in tmp_path.iterdir()] == ["model.py"]


def test_options_of_python_files_are_refused_for_onnx_files(primsplit: Callable[..., Any], exported: Path) -> None:
    done = primsplit("run", exported, "--dtype", "float32")
    assert (done.status, "are for Python files" in done.error) == (1, True)
