"""Types of operators that pick and put elements."""

import pytest

from tests.ops.inference.checks import check_literal_types, check_symbolic_types, rows_of
from tests.ops.inference.rows import Row


@pytest.mark.parametrize("row", rows_of("indexing"))
def test_literal_types_equal_onnxs_own_inference_where_it_has_an_answer(row: Row) -> None:
    check_literal_types(row)


@pytest.mark.parametrize("row", rows_of("indexing"))
def test_symbolic_types_evaluate_to_the_shapes_that_onnxruntime_produces(row: Row) -> None:
    check_symbolic_types(row)
