"""Scans along other axes than the first, of arrays without elements: onnxruntime's own way ends the process."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import primsplit as ps
from primsplit.ir import walk
from primsplit.targets.finish import finish


def scanned(path: Path, axis: int, stacked: int) -> str:
    """A model that adds up what it walks over along an axis, and stacks the sums along another."""
    row, double = [None, None], TensorProto.DOUBLE
    values = [helper.make_tensor_value_info(n, double, row) for n in ("c", "e", "c2", "e2")]
    nodes = [helper.make_node("Add", ["c", "e"], ["c2"]), helper.make_node("Identity", ["c2"], ["e2"])]
    body = helper.make_graph(nodes, "body", values[:2], values[2:])
    axes = {"scan_input_axes": [axis], "scan_output_axes": [stacked]}
    node = helper.make_node("Scan", ["start", "x"], ["last", "sums"], num_scan_inputs=1, body=body, **axes)
    inputs = [helper.make_tensor_value_info(n, double, [None] * r) for n, r in (("start", 2), ("x", 3))]
    outputs = [helper.make_tensor_value_info("sums", double, [None] * 3)]
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 21)]
    )
    onnx.save(model, str(path))
    return str(path)


@pytest.mark.parametrize(("axis", "stacked"), [(1, 0), (0, 1), (2, 2), (-1, -2), (1, -1)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 0), (2, 0, 3), (0, 2, 3), (1, 1, 1)])
def test_a_scan_along_any_axis_takes_arrays_of_any_size(
    axis: int, stacked: int, shape: tuple[int, ...], tmp_path: Path
) -> None:
    program = ps.load(scanned(tmp_path / "scan.onnx", axis, stacked))
    x = np.random.default_rng(0).normal(size=shape)
    sums = np.cumsum(np.moveaxis(x, axis, 0), axis=0)
    start = np.zeros(sums.shape[1:])
    found, wanted = program(start, x), np.moveaxis(sums, 0, stacked)
    assert found.size == wanted.size
    if wanted.size:
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_batch_of_gradients_of_a_scan_over_nothing_is_zero() -> None:
    def f(x):
        def body(i, c):
            return c + ps.scan(lambda c, e: (c + e * c, None), 0.5, x[:0] * c)[0]

        return ps.fori_loop(0, 2, body, 0.1)

    np.testing.assert_array_equal(ps.vmap(ps.grad(f))(np.ones((2, 3))), np.zeros((2, 3)))


def test_what_is_never_empty_is_left_alone() -> None:
    def f(x):
        return ps.scan(lambda c, e: (c + e, c * e), 0.5, x)[1]

    program = ps.trace(ps.vmap(f), ps.spec("float64", [2, 3]))
    assert [op.kind for op in walk(finish(program.block))].count("Transpose") == 1
