"""Dense linear algebra has its name where its nodes are those of primsplit."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from tests.mathematics import assert_covers


@pytest.mark.parametrize("size", [1, 6])
def test_a_cholesky_factor_has_its_name(size: int, tmp_path: Path) -> None:
    def main(a: Any) -> Any:
        return np.linalg.cholesky(a @ a.T)

    (path,) = ps.export(main, ps.spec("float64", [size, size]), path=tmp_path / "f.onnx", mode="value")
    file = read_written(str(path))
    assert "= cholesky(" in list_as_mathematics(file)
    assert_covers(file)


@pytest.mark.parametrize("size", ["N", 6, 64])
def test_a_call_is_a_statement_of_what_it_computes(size: Any, tmp_path: Path) -> None:
    def main(a: Any, b: Any) -> Any:
        factor = np.linalg.cholesky(a)
        half = np.linalg.solve(factor, b)
        x = np.linalg.solve(a, b)
        return np.sum(half**2) + np.sum(x**2) + np.sum(np.linalg.inv(a) ** 2)

    given = ps.spec("float64", [size, size]), ps.spec("float64", [size])
    (path,) = ps.export(main, *given, path=tmp_path / "f.onnx", wrt="a")
    file = read_written(str(path))
    listing = list_as_mathematics(file)
    for text in (
        " factor = cholesky(a)",
        " = solve_triangular(factor, b[:, None], lower=True)",
        " half = ",
        " = solve(a, b[:, None])",
        " = inv(a)",
        "lower=True, trans='T')",
        "solve(a.T, ",
    ):
        assert text in listing
    assert "for t in" not in listing
    assert_covers(file)


def test_another_number_in_the_nodes_is_not_claimed(tmp_path: Path) -> None:
    (path,) = ps.export(np.linalg.cholesky, np.eye(6), path=tmp_path / "f.onnx", mode="value")
    model = onnx.load(path)
    (scan,) = (node for node in model.graph.node if node.op_type == "Scan")
    body = next(a.g for a in scan.attribute if a.name == "body")
    (gemm,) = (node for node in body.node if node.op_type == "Gemm")
    next(a for a in gemm.attribute if a.name == "alpha").f = -1.5
    onnx.save(model, path)
    assert "= cholesky(" not in list_as_mathematics(read_written(str(path)))
