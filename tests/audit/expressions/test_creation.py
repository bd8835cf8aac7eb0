"""Arrays that are made of sizes and numbers."""

import numpy as np

from tests.audit.expressions.written import text_of


def test_arrays_of_one_number_keep_their_dtype() -> None:
    assert text_of("ConstantOfShape", "int64[2]") == "np.zeros(a, np.float32)"
    assert text_of("ConstantOfShape", np.array([2, 3]), value=np.array([7], "i4")) == "np.full((2, 3), 7, np.int32)"
    assert text_of("ConstantOfShape", "int64[2]", value=np.array([-0.0])) == "np.full(a, -0.0, np.float64)"


def test_constants_of_nodes_have_the_dtype_of_their_attribute() -> None:
    assert text_of("Constant", value_float=0.5) == "np.float32(0.5)"
    assert text_of("Constant", value_ints=[1, 2]) == "np.array([1, 2], 'int64')"


def test_a_range_has_the_dtype_of_its_ends() -> None:
    assert text_of("Range", "int32", "int32", "int32") == "np.arange(a, b, c, dtype=np.int32)"
    assert text_of("Range", "int64", "int64[1]", "int64") == "np.arange(a, b.item(), c, dtype=np.int64)"
