"""Constants that are the same in two files, whatever their names and dtypes are."""

from pathlib import Path

import numpy as np
import onnx

from primsplit.audit.review.contents import contents, same_constant
from primsplit.audit.written import Written, read_written
from primsplit.ir import Const

A, B, C = (np.linspace(0.0, k, 80, dtype=np.float32) for k in (1.0, 2.0, 3.0))


def holding(path: Path, **arrays: np.ndarray) -> Written:
    """A file that adds arrays to its input."""
    names = [*arrays]
    nodes = [
        onnx.helper.make_node("Add", ["x" if i == 0 else f"t{i}", name], ["y" if i + 1 == len(names) else f"t{i + 1}"])
        for i, name in enumerate(names)
    ]
    ends = [[onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [80])] for n in ("x", "y")]
    held = [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()]
    graph = onnx.helper.make_graph(nodes, "g", *ends, initializer=held)
    onnx.save(onnx.helper.make_model(graph, ir_version=9, opset_imports=[onnx.helper.make_opsetid("", 20)]), path)
    return read_written(str(path))


def test_arrays_are_paired_by_their_numbers_then_by_their_names(tmp_path: Path) -> None:
    before = holding(tmp_path / "old.onnx", c0=A, c1=B)
    after = holding(tmp_path / "new.onnx", c0=B, c1=C)
    found = contents(before, after)
    assert found.identity[before.held["c1"]] == found.identity[after.held["c0"]]
    assert found.changed == ()
    assert ([c.hint for c in found.removed], [c.hint for c in found.added]) == (["c0"], ["c1"])


def test_an_array_of_one_name_with_other_numbers_is_changed_and_has_one_identity(tmp_path: Path) -> None:
    before, after = holding(tmp_path / "old.onnx", w=A), holding(tmp_path / "new.onnx", w=B)
    found = contents(before, after)
    assert found.changed == ((before.held["w"], after.held["w"]),)
    assert found.identity[before.held["w"]] == found.identity[after.held["w"]]


def test_numbers_are_the_same_if_the_coarser_dtype_has_them() -> None:
    def same(a: object, b: object) -> bool:
        return same_constant(Const(np.asarray(a)), Const(np.asarray(b)), {})

    assert same(np.float32(1 / 3), np.float64(1 / 3))
    assert not same(np.float64(1 / 3), np.float64(np.float32(1 / 3)))
    assert not same(np.float32(0.25), np.float32(0.5))
    assert not same(np.int64(1), np.float32(1.0))
    assert same(np.float32(np.nan), np.float32(np.nan))
