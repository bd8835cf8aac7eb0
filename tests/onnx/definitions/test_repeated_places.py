"""Places that a loaded model writes twice: the last writer stays, and alone has a gradient, as in a loop of NumPy's."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import primsplit as ps

WEIGHTS = np.arange(1.0, 7.0)


def model(folder: Path, kind: str, indices: Any, *, size: Any, opset: int = 18, **attributes: Any) -> Any:
    """x[6] with u written to it; the indices are an initializer, or an input for None."""
    x = helper.make_tensor_value_info("x", TensorProto.DOUBLE, [6])
    u = helper.make_tensor_value_info("u", TensorProto.DOUBLE, [size])
    i = helper.make_tensor_value_info("i", TensorProto.INT64, [size, 1] if kind == "ScatterND" else [size])
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [6])
    node = helper.make_node(kind, ["x", "i", "u"], ["y"], **attributes)
    held = [] if indices is None else [numpy_helper.from_array(indices, "i")]
    graph = helper.make_graph([node], "g", [x, *([i] if indices is None else []), u], [y], held)
    path = str(folder / "scatter.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return ps.load(path)


def written(x: Any, places: Any, u: Any) -> Any:
    found = x.copy()
    for place, number in zip(places, u, strict=True):
        found[place] = number
    return found


PLACES = {
    "twice": [0, 2, 2, 4, 2],
    "from the end": [5, -1, 0, -6, 3],
    "all one": [1, 1, 1],
    "each once": [3, 1, 0],
    "one": [4],
    "none": [],
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("kind", ["ScatterND", "ScatterElements", "Scatter"])
@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("is_constant", [True, False])
def test_the_last_writer_has_the_gradient_alone(kind: str, name: str, is_constant: bool, tmp_path: Path) -> None:
    places = np.array(PLACES[name], np.int64)
    x, u = np.arange(10.0, 16.0), np.linspace(0.5, 2.5, len(places)) if len(places) else np.zeros(0)
    indices = places[:, None] if kind == "ScatterND" else places
    size = len(places) if is_constant else "N"
    program = model(tmp_path, kind, indices if is_constant else None, size=size, opset=10 if kind == "Scatter" else 18)
    run = (lambda x, u: program(x, u)) if is_constant else (lambda x, u: program(x, indices, u))
    slopes = np.array([written(np.zeros(6), places, row) @ WEIGHTS for row in np.eye(len(places))])
    untouched = written(np.ones(6), places, np.zeros(len(places)))
    value, (by_x, by_u) = ps.value_and_grad(lambda x, u: np.sum(run(x, u) * WEIGHTS), wrt=(0, 1))(x, u)
    np.testing.assert_allclose(value, written(x, places, u) @ WEIGHTS)
    np.testing.assert_array_equal(by_x, untouched * WEIGHTS)
    np.testing.assert_array_equal(by_u, slopes.reshape(u.shape))
    tangent = ps.jvp(run, (x, u), (np.ones(6), u))[1]
    np.testing.assert_allclose(tangent, written(np.ones(6), places, u))
    curvature = ps.hessian(lambda u: np.sum(run(x, u) ** 3 * WEIGHTS))(u)
    last = written(np.zeros(6), places, np.arange(len(places)) + 1).astype(int) - 1
    wanted = np.diag([6 * u[k] * WEIGHTS[places[k]] if k in last else 0.0 for k in range(len(places))])
    np.testing.assert_allclose(curvature, wanted.reshape(curvature.shape))


@pytest.mark.parametrize("kind", ["ScatterND", "ScatterElements"])
@pytest.mark.parametrize("name", PLACES)
def test_places_that_are_written_once_keep_the_operator(kind: str, name: str, tmp_path: Path) -> None:
    places = np.array(PLACES[name], np.int64)
    program = model(tmp_path, kind, places[:, None] if kind == "ScatterND" else places, size=len(places))
    assert ([op.kind for op in program.block.ops] == [kind]) == (name in {"each once", "one", "none"})


def test_rows_and_columns_may_be_written_twice(tmp_path: Path) -> None:
    """Along the second axis of a matrix, each row with places of its own; mapped over a batch."""
    indices = np.array([[0, 0, 2], [1, 2, 1]])
    x = helper.make_tensor_value_info("x", TensorProto.DOUBLE, [2, 3])
    u = helper.make_tensor_value_info("u", TensorProto.DOUBLE, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.DOUBLE, [2, 3])
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=1)
    graph = helper.make_graph([node], "g", [x, u], [y], [numpy_helper.from_array(indices, "i")])
    path = str(tmp_path / "columns.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    program, weights = ps.load(path), np.arange(1.0, 7.0).reshape(2, 3)
    gradient = ps.grad(lambda u: np.sum(program(np.zeros((2, 3)), u) * weights))
    wanted = [[0, 1, 3], [0, 6, 5]]
    np.testing.assert_array_equal(gradient(np.ones((2, 3))), wanted)
    np.testing.assert_array_equal(ps.vmap(gradient)(np.ones((4, 2, 3))), [wanted] * 4)


@pytest.mark.parametrize("kind", ["ScatterND", "ScatterElements"])
def test_a_reduction_at_places_named_twice_has_the_derivatives_of_its_formula(kind: str, tmp_path: Path) -> None:
    places, u = np.array([0, 2, 0, 2]), np.array([3.0, 2.0, 1.0, 2.0])
    x = np.array([2.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    indices = places[:, None] if kind == "ScatterND" else places

    def gradient(reduction: str) -> Any:
        program = model(tmp_path, kind, indices, size=4, reduction=reduction)
        return ps.grad(lambda x, u: np.sum(program(x, u) * WEIGHTS), wrt=(0, 1))(x, u)

    for found, wanted in zip(gradient("add"), (WEIGHTS, WEIGHTS[places]), strict=True):
        np.testing.assert_array_equal(found, wanted)
    by_x, by_u = gradient("mul")
    np.testing.assert_allclose(by_x, WEIGHTS * [3, 1, 4, 1, 1, 1])
    np.testing.assert_allclose(by_u, [1 * 2 * 1, 3 * 2 * 2, 1 * 2 * 3, 3 * 2 * 2])
    by_x, by_u = gradient("max")  # at place 2 all three are 2, and share
    np.testing.assert_allclose(by_x, WEIGHTS * [0, 1, 1 / 3, 1, 1, 1])
    np.testing.assert_allclose(by_u, [1, 1, 0, 1])
    by_x, by_u = gradient("min")
    np.testing.assert_allclose(by_x, WEIGHTS * [0, 1, 1 / 3, 1, 1, 1])
    np.testing.assert_allclose(by_u, [0, 1, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_given_a_shape", [False, True])
@pytest.mark.parametrize(("stride", "slopes"), [(1, [0, 2, 0, 4, 0]), (2, [0, 2, 0, 4, 0])])
def test_a_maximum_of_two_windows_is_put_back_once(
    stride: int, slopes: list[int], is_given_a_shape: bool, dtype: type, tmp_path: Path
) -> None:
    x = np.array([[[1, 3, 2, 5, 4]]], dtype)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        helper.make_node("MaxPool", ["x"], ["m", "i"], kernel_shape=[2], strides=[stride]),
        helper.make_node("MaxUnpool", ["m", "i", *["s"] * is_given_a_shape], ["y"], kernel_shape=[2], strides=[stride]),
    ]
    long = np.array([1, 1, 5 if stride == 1 else 4], np.int64)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["N", 1, 5])],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(long, "s")] if is_given_a_shape else [],
    )
    path = str(tmp_path / "unpool.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    program = ps.load(path)
    weights = np.arange(1, long[2] + 1).astype(dtype)
    value, slope = ps.value_and_grad(lambda x: np.sum(program(x) * weights))(x)
    assert value == 3 * 2 + 5 * 4
    np.testing.assert_array_equal(slope, [[slopes]])
    assert ("ScatterElements" in ps.split(program).listing()) == (stride == 1)


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1, 3)])
def test_places_of_several_axes_may_be_written_twice(shape: tuple[int, ...], tmp_path: Path) -> None:
    places, x = np.array([2, 4, 2]), np.arange(10.0, 16.0)
    u = np.array([0.5, 1.5, 2.5]).reshape(shape)
    sizes = ", ".join(map(str, shape))
    text = f"g (double[6] x, int64[{sizes}, 1] i, double[{sizes}] u) => (double[6] y) {{ y = ScatterND (x, i, u) }}"
    made = helper.make_model(onnx.parser.parse_graph(text), opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(made, tmp_path / "scatter.onnx")
    program = ps.load(str(tmp_path / "scatter.onnx"))
    indices = places.reshape(*shape, 1)
    value, by_u = ps.value_and_grad(lambda u: np.sum(program(x, indices, u) * WEIGHTS))(u)
    np.testing.assert_allclose(value, written(x, places, u.reshape(-1)) @ WEIGHTS)
    np.testing.assert_array_equal(by_u.reshape(-1), [0.0, WEIGHTS[4], WEIGHTS[2]])
