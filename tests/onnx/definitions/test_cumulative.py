"""CumProd: running products, whose gradient is right at zeros, along axes that only the run knows too."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit import spec, trace
from primsplit.ir.errors import RunError, ShapeError
from primsplit.testing import check_grads
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(7)

ZEROS = np.array([[1.5, 0.0, -2.0, 3.0], [0.5, 0.0, 0.0, 2.0], [-1.0, 2.0, 0.25, 0.0]])


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_running_product_has_the_right_gradient_at_zeros(axis: int, exclusive: int, reverse: int) -> None:
    product = operator("CumProd", exclusive=exclusive, reverse=reverse)
    twice = axis == 0 and exclusive == reverse == 1
    check_grads(lambda x: product(x, np.array(axis)), ZEROS, order=1 + twice, symbolic=twice)


def test_a_running_product_of_nothing_is_nothing() -> None:
    product = operator("CumProd", exclusive=1, reverse=1)
    made = trace(lambda x: product(x, np.array(0)), spec("float64", ["N", 3]))
    for count in (0, 1, 70):
        x = rng.uniform(0.5, 1.5, (count, 3))
        np.testing.assert_allclose(made(x), product(x, np.array(0)), rtol=1e-12)


def test_a_running_product_along_an_axis_that_only_the_run_knows() -> None:
    product = operator("CumProd", exclusive=1, reverse=1)
    first, *others = [(ZEROS, np.array(axis, np.int32)) for axis in (0, 1, -1)]
    check_grads(product, *first, also_at=others, symbolic=False, order=1)


MICROSOFT = "com.microsoft"


def saved(folder: Path, node: onnx.NodeProto, opset: int, constants: dict[str, Any], inputs: dict[str, Any]) -> str:
    """A model of one node that reads x[2,3], constants, and other inputs of these shapes."""
    given = [helper.make_tensor_value_info("x", 1, [2, 3])]
    given += [helper.make_tensor_value_info(n, onnx.TensorProto.INT64, s) for n, s in inputs.items()]
    stored = [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()]
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", 1, [2, 3])], stored)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    path = str(folder / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    return path


@pytest.mark.parametrize("axis", [2, -3])
def test_a_running_product_along_an_axis_that_there_is_not_is_refused(axis: int, tmp_path: Path) -> None:
    node = helper.make_node("CumProd", ["x", "a"], ["y"])
    with pytest.raises(ShapeError, match=f"CumProd: axis {axis} of a tensor with 2 axes"):
        ps.load(saved(tmp_path, node, 26, {"a": np.int64(axis)}, {}))


def test_a_running_product_along_an_axis_that_only_the_run_knows_fails_there(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, helper.make_node("CumProd", ["x", "a"], ["y"]), 26, {}, {"a": []}))
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    for axis in (0, 1, -1, -2):
        np.testing.assert_array_equal(program(x, np.int64(axis)), np.cumprod(x, axis))
    for axis in (2, -3):
        with pytest.raises(RunError):
            program(x, np.int64(axis))
