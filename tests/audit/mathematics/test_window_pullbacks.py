"""Pullbacks of pools and convolutions that have many nodes have a name where each node is compared."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.mathematics.window_pullbacks import with_window_pullbacks
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.written import read_written
from primsplit.extend import op
from tests.mathematics import assert_covers, assert_statements_compute


def listed(function: Any, *arrays: Any, folder: Path) -> tuple[str, str]:
    """The path of the file of a gradient by all arguments, and its listing, which computes what the file does."""
    path = str(folder / "f.onnx")
    value = ps.trace(function, *arrays)(*arrays)
    ps.split(function, *arrays, wrt=tuple(range(len(arrays)))).save(path)
    d_y = np.random.default_rng(1).normal(size=value.shape).astype(value.dtype)
    assert_statements_compute(path, [*arrays, d_y])
    return path, list_as_mathematics(read_written(path))


def whole(*shape: int, dtype: str = "float32") -> Any:
    """Small integers, of which many are equal: a pool's maximum is the first of them."""
    return np.random.default_rng(0).integers(0, 4, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"kernel_shape": [3, 3], "strides": [2, 2]}, "kernel=3, strides=2"),
        ({"kernel_shape": [3, 2], "strides": [1, 2]}, "kernel=[3, 2], strides=[1, 2]"),
        ({"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1]}, "kernel=2, strides=2, pads=1"),
    ],
)
def test_the_gradient_of_a_pool_is_one_statement(
    attributes: dict[str, Any], told: str, dtype: str, tmp_path: Path
) -> None:
    _, text = listed(lambda x: op.MaxPool(x, **attributes), whole(2, 3, 8, 8, dtype=dtype), folder=tmp_path)
    assert f"  d_x = max_pool_grad(d_y, x, {told})" in text


@pytest.mark.parametrize(
    ("attributes", "shape", "told"),
    [
        ({"dilations": [2, 2]}, (4, 4, 3, 3), "dilations=2, kernel=3"),
        ({"group": 4, "pads": [1, 1, 1, 1]}, (4, 1, 3, 3), "group=4, pads=1, kernel=3"),
        ({"group": 2, "strides": [2, 1]}, (6, 2, 3, 2), "group=2, strides=[2, 1], kernel=[3, 2]"),
    ],
)
def test_the_gradient_by_a_kernel_is_one_statement(
    attributes: dict[str, Any], shape: tuple[int, ...], told: str, tmp_path: Path
) -> None:
    _, text = listed(lambda x, w: op.Conv(x, w, **attributes), whole(2, 4, 8, 8), whole(*shape), folder=tmp_path)
    assert f"  d_w = conv_kernel_grad(d_y, x, {told})" in text


@pytest.mark.parametrize("kind", ["Sub", "Equal"])
def test_a_pullback_with_another_operator_keeps_its_nodes(kind: str, tmp_path: Path) -> None:
    function = lambda x: op.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2])  # noqa: E731
    path, _ = listed(function, whole(2, 3, 8, 8), folder=tmp_path)
    model = onnx.load(path)
    (node, *_) = (n for n in model.graph.node if n.op_type == kind)
    node.op_type = {"Sub": "Add", "Equal": "GreaterOrEqual"}[kind]
    onnx.save(model, path)
    assert "  d_x = max_pool_grad(d_y, x, kernel=3" not in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [whole(2, 3, 8, 8), np.ones((2, 3, 3, 3), np.float32)])


def _two_kernels(x: Any, v: Any, w: Any) -> Any:
    return op.Conv(x, v) * 2.0 + op.Conv(x, w)


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (lambda x: op.MaxPool(x, kernel_shape=[2, 2]) * 2.0, [whole(1, 1, 4, 4)]),
        (_two_kernels, [whole(1, 4, 6, 6), whole(3, 4, 1, 1), whole(3, 4, 1, 1)]),
    ],
    ids=["a pool", "two gradients that share nodes"],
)
def test_each_node_is_in_one_statement(function: Any, arrays: list[Any], tmp_path: Path) -> None:
    path, _ = listed(function, *arrays, folder=tmp_path)
    assert_covers(read_written(path))
    file = read_written(path)
    sizes, statements = Sizes(file), statements_of(file).main
    sizes.names.update(statements.names)
    found = with_window_pullbacks(statements.statements, sizes)
    covered = [node for statement in found for node in statement.ops]
    assert len(found) < len(statements.statements)
    assert len(covered) == len({*covered}) == len([*file.ops()])
