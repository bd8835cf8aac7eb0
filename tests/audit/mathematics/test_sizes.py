"""Integers that hold sizes are known by the names of sizes."""

import ast
from pathlib import Path

import numpy as np

import primsplit as ps
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.written import read_written
from primsplit.ir import walk


def test_what_is_computed_from_shapes_is_a_size(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(lambda x: np.mean(x) * np.sum(x), ps.spec("float64", ["N", 3]), path=path)
    file = read_written(path)
    sizes = Sizes(file)
    found = {
        op.kind: sizes.expression(op.outputs[0]) for op in walk(file.block) if op.outputs[0].type.dtype == np.int64
    }
    texts = {kind: ast.unparse(tree) for kind, tree in found.items() if tree is not None}
    assert texts["Shape"] in {"N", "(N, 3)"}
    assert sizes.symbols == {"N"}


def test_a_size_of_no_input_has_no_name(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(lambda x: x[x > 0].sum(), ps.spec("float64", ["N"]), path=path)
    file = read_written(path)
    sizes = Sizes(file)
    shapes = [v.type.shape for op in walk(file.block) for v in op.outputs if v.type.shape]
    unknown = [size for shape in shapes for size in shape if not isinstance(size, int) and str(size) != "N"]
    assert unknown
    assert all(sizes.tree(size) is None for size in unknown)
