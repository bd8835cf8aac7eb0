"""What a node tells of its inputs and attributes."""

import numpy as np
import pytest

from primsplit.audit.expressions.nodes import same_size
from primsplit.audit.written import OfCall
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError
from tests.audit.expressions.written import node_of


def test_types_that_the_file_does_not_tell_are_none() -> None:
    node = node_of("Add", "float32[2,3]", "?", None)
    assert (node.dtype(0), node.rank(0), node.shape(0)) == (np.float32, 2, (2, 3))
    assert (node.dtype(1), node.rank(1), node.shape(2)) == (None, None, None)
    assert [node.has(i) for i in range(4)] == [True, True, False, False]


def test_integers_are_those_of_an_attribute_or_of_a_constant_input() -> None:
    assert node_of("ReduceSum", "float32[2]", axes=[0]).integers("axes", 1) == [0]
    assert node_of("ReduceSum", "float32[2]", np.array([1])).integers("axes", 1) == [1]
    assert node_of("ReduceSum", "float32[2]").integers("axes", 1) is None
    assert not isinstance(node_of("ReduceSum", "float32[2]", "int64[1]").integers("axes", 1), list | None)


def test_a_refusal_names_the_operator_and_the_node() -> None:
    node = node_of("Odd", "bfloat16[2]", level=OfCall("level"))
    with pytest.raises(PrimsplitError, match="Odd has the dtype bfloat16"):
        node.check_dtypes()
    with pytest.raises(PrimsplitError, match="the attribute level of the function around it"):
        node.attribute("level")
    with pytest.raises(PrimsplitError, match="Odd has no input 3") as caught:
        node.argument(3)
    assert "'node'" in str(caught.value)


def test_sizes_that_a_file_does_not_tell_are_equal_to_nothing() -> None:
    assert same_size(3, 3)
    assert same_size(symbol("N"), symbol("N"))
    assert not same_size(symbol("?"), symbol("?"))
