"""Rows of nodes are in the order of the listing."""

from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.node_rows import node_rows, ordered_ops
from primsplit.audit.written import read_written


def test_rows_have_the_order_of_the_ops_and_those_of_functions_name_theirs(tmp_path: Path) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.tanh(x))

    (path,) = ps.export(loss, np.ones(3), path=tmp_path / "f.onnx", form="functions")
    file = read_written(path)
    rows = node_rows(file)
    assert [row["operator"] for row in rows] == [op.kind for op in ordered_ops(file)]
    assert {row["function"] for row in rows} == {"", *file.functions}
    assert {row["section"] for row in rows} == {"forward", "backward"}
