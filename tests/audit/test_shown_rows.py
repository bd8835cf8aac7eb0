"""Statements of a file with the nodes that they stand for."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

import primsplit as ps
from primsplit.audit.shown_rows import shown_rows
from primsplit.audit.written import read_written


def test_a_loop_is_a_head_with_deeper_rows(tmp_path: Path) -> None:
    def total(x: Any) -> Any:
        return ps.fori_loop(0, 50, lambda i, c: np.sin(c) + x, x)

    (path,) = ps.export(total, np.ones(3), path=tmp_path / "f.onnx", mode="value")
    rows = shown_rows(read_written(path))
    (head,) = (i for i, row in enumerate(rows) if row.text.startswith("for "))
    assert "sin(" in rows[head + 1].text
    assert rows[head + 1].depth == rows[head].depth + 1
    assert {op.kind for op in rows[head + 1].ops} >= {"Sin", "Add"}


def test_a_file_with_a_constant_of_a_dtype_that_numpy_lacks_has_no_rows(tmp_path: Path) -> None:
    kind = onnx.TensorProto.BFLOAT16
    ends = [[onnx.helper.make_tensor_value_info(n, kind, [3])] for n in ("x", "y")]
    held = onnx.helper.make_tensor("c", kind, [3], [1.0, 2.0, 3.0])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "c"], ["y"])], "g", *ends, initializer=[held])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, tmp_path / "f.onnx")
    assert shown_rows(read_written(str(tmp_path / "f.onnx"))) == []
