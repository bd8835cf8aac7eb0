"""The numbers that a model computes from constants and sizes while it is read."""

from collections.abc import Callable
from typing import Any

import numpy as np

import primsplit as ps
from primsplit import tracing
from primsplit.onnx.known import known_array, known_number, settled_integers
from primsplit.ops import op
from primsplit.tracing.asarray import as_array

PADS = np.array([[0, 1], [2, 3]])


def while_traced(f: Callable[[Any], Any]) -> Any:
    """What the function returns of a traced float64[2, 3]."""
    found = []
    ps.trace(lambda x: found.append(f(x)) or x, ps.spec("float64", [2, 3]))
    return found[0]


def test_numbers_that_constants_give_are_known_and_those_of_inputs_are_not() -> None:
    def pads(_: Any) -> Any:
        return known_array(op.Reshape(op.Transpose(as_array(PADS), perm=[1, 0]), [4]).value)

    np.testing.assert_array_equal(while_traced(pads), PADS.T.reshape(4))
    np.testing.assert_array_equal(while_traced(lambda _: known_array(as_array(PADS).value)), PADS)
    assert while_traced(lambda x: known_array(op.Neg(x).value)) is None


def test_sizes_that_are_literal_are_known() -> None:
    np.testing.assert_array_equal(while_traced(lambda x: known_array(op.Shape(x).value)), [2, 3])


def test_a_number_is_known_of_one_element_alone() -> None:
    assert while_traced(lambda _: known_number(as_array(np.array([[7]])).value)) == 7
    assert while_traced(lambda _: known_number(as_array(np.array([7, 8])).value)) is None
    assert while_traced(lambda _: known_number(as_array(np.zeros(0, np.int64)).value)) is None


def test_integers_are_settled_at_once_and_their_operator_is_removed() -> None:
    def settled(array: Any) -> tuple[Any, int]:
        before = len(tracing.current().ops)
        found = settled_integers([op.Transpose(array, perm=[1, 0]).value])
        return None if found is None else found.numpy(), len(tracing.current().ops) - before

    numbers, more = while_traced(lambda _: settled(as_array(PADS)))
    np.testing.assert_array_equal(numbers, PADS.T)
    assert more == 0
    assert while_traced(settled) == (None, 1)
    assert while_traced(lambda _: settled(as_array(PADS / 2))) == (None, 1)
