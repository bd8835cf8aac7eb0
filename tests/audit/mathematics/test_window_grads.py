"""The gradients of convolutions and pools have a name where they are compared, and only there."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from primsplit.extend import op
from tests.mathematics import assert_statements_compute


def listed(function: Any, *arrays: Any, folder: Path) -> tuple[str, str]:
    """The path of the file of a gradient by all arguments, and its listing, which computes what the file does."""
    path = str(folder / "f.onnx")
    made = ps.split(function, *arrays, wrt=tuple(range(len(arrays))))
    made.save(path)
    random = np.random.default_rng(1)
    d_y = random.normal(size=np.shape(function_value(function, arrays))).astype(np.float32)
    assert_statements_compute(path, [*arrays, d_y])
    return path, list_as_mathematics(read_written(path))


def function_value(function: Any, arrays: Any) -> Any:
    return ps.trace(function, *arrays)(*arrays)


def drawn(*shapes: tuple[int, ...]) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(
    ("strides", "dilations", "pads"),
    [*itertools.product(([1, 1], [2, 1], [2, 2]), ([1, 1], [2, 1]), ([0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 2, 1]))],
)
def test_the_gradient_by_a_kernel_is_one_statement(
    strides: list[int], dilations: list[int], pads: list[int], tmp_path: Path
) -> None:
    def layer(x: Any, w: Any) -> Any:
        return op.Conv(x, w, strides=strides, dilations=dilations, pads=pads)

    _, text = listed(layer, *drawn((2, 3, 7, 8), (4, 3, 3, 2)), folder=tmp_path)
    assert "d_w = conv_kernel_grad(d_y, x, kernel=[3, 2]" in text


def test_the_gradient_by_the_kernel_of_a_batch_that_may_be_empty_is_one_statement(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    types = (ps.spec("float32", ["N", 3, 8, 8]), ps.spec("float32", [4, 3, 3, 3]))
    ps.split(lambda x, w: op.Conv(x, w, pads=[1, 1, 1, 1]), *types, wrt=(0, 1)).save(path)
    assert "  d_w = conv_kernel_grad(d_y, x, kernel=3, pads=1)" in list_as_mathematics(read_written(path))
    for batch in (0, 1, 3):
        assert_statements_compute(path, drawn((batch, 3, 8, 8), (4, 3, 3, 3), (batch, 4, 8, 8)))


@pytest.mark.parametrize("kernel", [[2, 2], [1, 3], [4, 2]])
def test_the_gradient_of_windows_side_by_side_is_one_statement(kernel: list[int], tmp_path: Path) -> None:
    (x,) = drawn((2, 3, 8, 12))
    x = np.round(x)  # with ties
    if kernel[1] == 3:
        x = x[:, :, :, :9]
    _, text = listed(lambda x: op.MaxPool(x, kernel_shape=kernel, strides=kernel), x, folder=tmp_path)
    assert "d_x = max_pool_grad(d_y, x, kernel=" in text


def test_windows_that_are_numbered_in_another_order_keep_their_nodes(tmp_path: Path) -> None:
    (x,) = drawn((1, 2, 4, 4))
    path, _ = listed(lambda x: op.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]), x, folder=tmp_path)
    model = onnx.load(path)
    numbers = [i for i in model.graph.initializer if np.array_equal(numpy_helper.to_array(i).ravel(), [4, 3, 2, 1])]
    assert numbers
    for each in numbers:
        each.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(each)[..., ::-1].copy(), each.name))
    onnx.save(model, path)
    assert "max_pool_grad" not in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [np.round(x), np.ones((1, 2, 2, 2), np.float32)])


def test_a_kernel_of_another_step_keeps_its_nodes(tmp_path: Path) -> None:
    def layer(x: Any, w: Any) -> Any:
        return op.Conv(x, w, pads=[1, 1, 1, 1])

    path, _ = listed(layer, *drawn((2, 3, 8, 8), (4, 3, 3, 3)), folder=tmp_path)
    model = onnx.load(path)
    for node in (n for n in model.graph.node if n.op_type == "Transpose"):
        for attribute in node.attribute:
            if list(attribute.ints) == [0, 3, 1, 2]:
                attribute.ints[:] = [0, 3, 2, 1]
    onnx.save(model, path)
    assert "conv_kernel_grad" not in list_as_mathematics(read_written(path))
