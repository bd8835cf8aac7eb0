"""Functions that are written out have their names, and functions beside them have none."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from scipy import special

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from tests.mathematics import assert_statements_compute

POINTS = np.array([-3.0, -0.5, 0.0, 0.25, 1.0, 2.5])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("title", ["ndtr", "erfc", "erf"])
def test_a_function_of_scipy_is_one_statement(title: str, dtype: str, tmp_path: Path) -> None:
    function = getattr(special, title)
    path, x = str(tmp_path / "f.onnx"), (np.abs(POINTS) + 0.5).astype(dtype)
    ps.trace(lambda x: function(x), x).save(path)
    text = list_as_mathematics(read_written(path))
    assert f"{title}(x" in text
    assert "polyval" not in text
    assert_statements_compute(path, [x])


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


def test_a_function_with_another_number_keeps_its_nodes(tmp_path: Path) -> None:
    path = str(tmp_path / "f.onnx")
    ps.trace(special.ndtr, POINTS).save(path)
    model = onnx.load(path)
    changed = 0
    for each in model.graph.initializer:
        array = numpy_helper.to_array(each)
        if array.size == 1 and 1.2 < array.reshape(-1)[0] < 1.3:
            each.CopyFrom(numpy_helper.from_array(array + 1e-4, each.name))
            changed += 1
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.t.dims == [] and attribute.t.data_type == 11:
                array = numpy_helper.to_array(attribute.t)
                if 1.2 < array < 1.3:
                    attribute.t.CopyFrom(numpy_helper.from_array(array + 1e-4))
                    changed += 1
    assert changed
    onnx.save(model, path)
    text = list_as_mathematics(read_written(path))
    assert "ndtr" not in text.split("sha256")[1]
    assert_statements_compute(path, [POINTS])
