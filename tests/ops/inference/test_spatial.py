"""Types of convolutions, resizes and other operators of images."""

import pytest

from primsplit.ops import op
from tests.ops.inference.checks import check_literal_types, check_symbolic_types, rows_of
from tests.ops.inference.rows import Row
from tests.recording import record


@pytest.mark.parametrize("row", rows_of("spatial"))
def test_literal_types_equal_onnxs_own_inference_where_it_has_an_answer(row: Row) -> None:
    check_literal_types(row)


@pytest.mark.parametrize("row", rows_of("spatial"))
def test_symbolic_types_evaluate_to_the_shapes_that_onnxruntime_produces(row: Row) -> None:
    check_symbolic_types(row)


def test_the_sizes_of_another_array_are_those_of_a_resized_image() -> None:
    (found,) = record(
        lambda x, y: op.Resize(x, None, None, op.Shape(y)), "float32[2,3,4,5]", "float32[2,3,N,M]"
    ).results
    assert str(found.type) == "float32[2,3,N,M]"
