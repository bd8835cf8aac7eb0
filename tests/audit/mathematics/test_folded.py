"""A folded value is written in the shape that its reader needs."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.mathematics.folded import Folded, materialized
from primsplit.audit.mathematics.sizes import Shape, Sizes
from primsplit.audit.written import read_written
from primsplit.ir.dims import symbol

N = symbol("N")
ROWS: list[tuple[Shape, Shape, str]] = [
    ((), (), "v"),
    ((), (N, 3), "full((N, 3), v)"),
    ((), (N,), "full(N, v)"),
    ((3,), (1, 3), "v[None]"),
    ((3,), (N, 3), "broadcast_to(v, (N, 3))"),
    ((1, 1), (), "v.reshape(())"),
    ((N, 3), (N, 3), "v"),
]


@pytest.mark.parametrize(("own", "wanted", "text"), ROWS)
def test_a_value_gets_the_shape_that_is_asked_for(own: Shape, wanted: Shape, text: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(np.sum, ps.spec("float64", ["N", 3]), path=path, mode="value")
    found = materialized(Folded(ast.Name("v", ast.Load()), own), wanted, Sizes(read_written(path)))
    assert ast.unparse(found) == text
    space = {"v": np.ones([2 if d is N else d for d in own]), "N": 2, "broadcast_to": np.broadcast_to}
    space.update(full=lambda shape, v: np.full(shape, v), reshape=np.reshape)
    assert np.shape(eval(ast.unparse(found), space)) == tuple(2 if d is N else d for d in wanted)


@pytest.mark.parametrize(("size", "text"), [(1, "(v,)"), (3, "full(3, v)"), (N, "full(N, v)")])
def test_a_number_that_may_be_a_size_fills_an_array_of_more_than_one(size: Any, text: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.export(np.sum, ps.spec("float64", ["N", 3]), path=path, mode="value")
    folded = Folded(ast.Name("v", ast.Load()), (), size=1)
    assert ast.unparse(materialized(folded, (size,), Sizes(read_written(path)))) == text
