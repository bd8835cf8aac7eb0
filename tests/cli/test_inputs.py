"""Arrays for a file: those that are given, then examples and states, then draws within bounds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.audit.written import read_written
from primsplit.cli.inputs import arrays_for
from primsplit.ir.errors import ShapeError, SpecError
from primsplit.programs.opened import OpenedFile


def picked(table: Any, row: Any, x: Any) -> Any:
    return table[row] * x


@pytest.fixture
def path(tmp_path: Path) -> str:
    specs = (ps.spec("float64", [4, 3]), ps.spec("int64", []), ps.spec("float64", ["N", 3]))
    (path,) = ps.export(picked, *specs, path=tmp_path / "f.onnx", wrt="table")
    return str(path)


def test_what_is_not_given_is_drawn_where_the_file_accepts_it(path: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((5, 3)))
    known = {"x": np.zeros((2, 3)), "table": np.full((4, 3), 2.0)}
    file = OpenedFile(path)
    found = arrays_for(file, read_written(path).block, known, str(tmp_path / "in.npz"), {"d_y": (2.0, 3.0)})
    assert found["x"].shape == found["d_y"].shape == (5, 3)
    np.testing.assert_array_equal(found["table"], known["table"])
    assert 0 <= found["row"] < 4
    assert np.all((found["d_y"] >= 2.0) & (found["d_y"] <= 3.0))
    assert np.isfinite(file(found)["d_table"]).all()


def test_an_array_that_no_input_takes_is_refused(path: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", y=np.ones((5, 3)))
    with pytest.raises(SpecError, match="y"):
        arrays_for(OpenedFile(path), read_written(path).block, {}, str(tmp_path / "in.npz"))


def test_a_known_array_with_fewer_axes_than_the_input_is_refused(path: str) -> None:
    with pytest.raises(ShapeError, match="x"):
        arrays_for(OpenedFile(path), read_written(path).block, {"x": np.ones(3)})
