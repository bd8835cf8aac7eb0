"""What onnxruntime refuses to load is refused when the model is read, at its node."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.errors import PrimsplitError
from tests.onnxio.edits import node, written

Row = tuple[list[onnx.NodeProto], list[int | str], dict[str, Any]]
F, N = np.float32, np.int64
EYE, ONES = np.eye(3, dtype=F), np.ones((1, 1, 2, 2), F)
ROWS: dict[str, Row] = {
    "TopK of more than there are": ([node("TopK", "x k", "y i")], [4, 3], {"k": N([7])}),
    "Tile by a negative number": ([node("Tile", "x r", "y")], [4, 3], {"r": N([-1, 1])}),
    "Split into more than there is": (
        [node("SplitToSequence", "x s", "q"), node("SequenceAt", "q z", "y")],
        [4, 3],
        {"s": N([2, 2**40]), "z": N(0)},
    ),
    "Split into a negative size": ([node("Split", "x s", "a y")], [4, 3], {"s": N([5, -1])}),
    "Flatten at no axis": ([node("Flatten", "x", "y", axis=3)], [4, 3], {}),
    "EyeLike of a vector": ([node("EyeLike", "x", "e"), node("Mul", "x e", "y")], [3], {}),
    "OneHot of a matrix of values": ([node("OneHot", "i d v", "y")], [3], {"i": N([0]), "d": N(2), "v": F([[0, 1]])}),
    "Gemm with a bias of three axes": ([node("Gemm", "x w c", "y")], ["N", 3], {"w": EYE, "c": F([[[1]]])}),
    "Gemm with a bias of another length": ([node("Gemm", "x w c", "y")], ["N", 3], {"w": EYE, "c": F([1, 2])}),
    "GridSample of vectors": ([node("GridSample", "x x", "y")], ["N", 3], {}),
    "Reshape to less than -1": ([node("Reshape", "x s", "y")], [4, 3], {"s": N([-3, 12])}),
    "a batch norm of other channels": ([node("BatchNormalization", "x m m m m", "y")], [2, 3, 4], {"m": F([1, 2])}),
    "Resize of an unknown mode": ([node("Resize", "x  c", "y", mode="nmarest")], [4, 3], {"c": F([1, 2])}),
    "Resize by one factor": ([node("Resize", "x  c", "y")], [4, 3], {"c": F([2])}),
    "Pad of an unknown mode": ([node("Pad", "x p", "y", mode="symmetric")], [4, 3], {"p": N([1, 1, 1, 1])}),
    "GridSample of an unknown padding": (
        [node("GridSample", "x g", "y", padding_mode="wrap")], [1, 1, 4, 4], {"g": np.zeros((1, 2, 2, 2), F)}
    ),
    "DepthToSpace of an unknown mode": ([node("DepthToSpace", "x", "y", blocksize=2, mode="DRC")], [1, 4, 2, 2], {}),
    "Mod with two flags": ([node("Mod", "x x", "y", fmod=2)], [4], {}),
    "Resize that leaves out twice": ([node("Resize", "x  c", "y", exclude_outside=2)], [4, 3], {"c": F([1, 2])}),
    "LpNormalization of order 3": ([node("LpNormalization", "x", "y", p=3)], [4], {}),
    "Conv of an unknown padding": ([node("Conv", "x w", "y", auto_pad="SAME")], [1, 1, 4, 4], {"w": ONES}),
    "an LSTM of an unknown direction": (
        [node("LSTM", "x w r", "y", hidden_size=1, direction="back")],
        [2, 1, 3],
        {"w": np.ones((1, 4, 3), F), "r": np.ones((1, 4, 1), F)},
    ),
}  # fmt: skip


def model(row: Row) -> onnx.ModelProto:
    nodes, shape, constants = row
    given, made = helper.make_tensor_value_info("x", 1, shape), onnx.ValueInfoProto(name="y")
    made.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    for each in nodes:
        if each.op_type == "Resize":
            each.input[:] = ["x", "", "c"]
    return helper.make_model(
        helper.make_graph(nodes, "g", [given], [made], stored),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )


@pytest.mark.parametrize("name", ROWS)
def test_what_onnxruntime_refuses_is_refused_when_it_is_read(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, model(ROWS[name]))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not name.startswith(("Gemm", "Split into a negative")):  # which onnxruntime refuses only in the run
        with pytest.raises(Exception, match=r"."):
            onnxruntime.InferenceSession(path, options)
    with pytest.raises(PrimsplitError) as caught:
        ps.load(path)
    assert caught.value.place is not None
    assert caught.value.place.filename == path
    assert len(str(caught.value).splitlines()) < 10


def test_empty_arrays_are_sliced_backwards(tmp_path: Path) -> None:
    """Builds of onnx with assertions end the process where they infer this."""
    back = {"b": N([-1]), "e": N([-(2**62)]), "a": N([0]), "s": N([-1])}
    program = ps.load(written(tmp_path, model(([node("Slice", "x b e a s", "y")], [0, 3], back))))
    assert np.shape(program(np.zeros((0, 3), F))) == (0, 3)
