"""Functions that are written out have their names, and functions beside them have none."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from scipy import special

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics, mathematics_of
from primsplit.audit.mathematics.special import FEWEST, FUNCTIONS, written_functions
from primsplit.audit.written import read_written
from tests.mathematics import assert_covers, assert_statements_compute

POINTS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("title", FUNCTIONS)
def test_a_function_of_scipy_is_one_statement(title: str, dtype: str, tmp_path: Path) -> None:
    function = getattr(special, title)
    path, x = str(tmp_path / "f.onnx"), POINTS.astype(dtype)
    ps.trace(lambda x: function(x), x).save(path)
    text = list_as_mathematics(read_written(path))
    assert f" {title}(x" in text
    assert "polyval" not in text
    assert_statements_compute(path, [x])


@pytest.mark.parametrize("title", FUNCTIONS)
def test_a_function_of_which_the_pullback_reads_the_value_is_one_statement(title: str, tmp_path: Path) -> None:
    function = getattr(special, title)
    path, x = str(tmp_path / "f.onnx"), POINTS[:, None]
    ps.split(lambda x: function(x), ps.spec("float64", ["N", "M"]), wrt=0).save(path)
    text = list_as_mathematics(read_written(path)).partition("\nbackward\n")[0]
    assert text.count(f"= {title}(x)") == 1
    assert "polyval" not in text
    assert_statements_compute(path, [x, np.ones_like(x)])


def test_functions_of_an_argument_and_of_its_negative_are_two(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.trace(lambda x: special.ndtr(-x) - special.ndtr(x), POINTS).save(path)
    assert "y = ndtr(-x) - ndtr(x)" in list_as_mathematics(read_written(path))
    assert_statements_compute(path, [POINTS])


def test_each_function_has_the_least_number_of_nodes_that_is_searched_for() -> None:
    assert min(len(written.block.ops) for written in written_functions()) >= FEWEST


def test_a_function_by_its_name_is_no_operator(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.trace(special.ndtr, POINTS).save(path)
    (made,) = mathematics_of(read_written(path))
    assert [line.op.kind for line in made.lines] == ["listed::ndtr"]


def test_the_argument_and_the_gradient_are_statements_beside_it(tmp_path: Path) -> None:
    def price(kind: Any, d: Any) -> Any:
        return kind * special.ndtr(kind * d)

    path = str(tmp_path / "f.onnx")
    given = [np.array([1.0, -1.0]), np.array([0.5, 2.0])]
    ps.split(price, *given, wrt=(0, 1)).save(path)
    text = list_as_mathematics(read_written(path))
    assert "ndtr(kind * d)" in text
    assert "polyval" not in text
    assert_statements_compute(path, [*given, np.ones(2)])


@pytest.mark.parametrize("at", [0, 10, 20, 30])
def test_a_function_with_another_bit_in_a_number_keeps_its_nodes(at: int, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.trace(special.ndtr, POINTS).save(path)
    model = onnx.load(path)
    changed = model.graph.initializer[at]
    changed.CopyFrom(numpy_helper.from_array(np.nextafter(numpy_helper.to_array(changed), 9), changed.name))
    onnx.save(model, path)
    text = list_as_mathematics(read_written(path))
    assert "ndtr" not in text.split("sha256")[1]
    assert_statements_compute(path, [POINTS])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: special.ndtr(x) * special.ndtr(-x),
        lambda x: special.erf(x) * special.erfc(x) + special.ndtr(x),
        lambda x: special.erfc(x) + special.erfcx(x),
    ],
)
def test_nodes_that_two_functions_share_are_counted_once(function: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.trace(function, np.ones(3)).save(path)
    assert_covers(read_written(path))
    assert_statements_compute(path, [np.array([-0.7, 0.2, 1.9])])
