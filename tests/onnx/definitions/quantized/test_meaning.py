"""The numbers that integers stand for, and the integers again."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Const, Type, Var
from primsplit.onnx.definitions.quantized.meaning import Meaning, is_same, is_single
from primsplit.tracing.asarray import as_array

INTEGERS = np.array([0.0, 3.0, 200.0], np.float32)
SCALE = np.array(0.5, np.float32)


@pytest.mark.parametrize("own", [None, 0, 7])
@pytest.mark.parametrize("asked", [None, 0, 7, 9])
def test_levels_are_the_integers_minus_the_zero_point_that_is_asked_for(own: int | None, asked: int | None) -> None:
    def point(number: int | None) -> Any:
        return None if number is None else as_array(np.array(number, np.uint8)).value

    def levels(numbers: Any) -> Any:
        return Meaning(numbers, as_array(SCALE).value, point(own)).levels(point(asked))

    found = ps.trace(levels, ps.spec("float32", [3]))((INTEGERS - (own or 0)) * SCALE)
    np.testing.assert_array_equal(found, INTEGERS - (asked or 0))


def test_equal_constants_are_one_and_an_absent_zero_point_is_0() -> None:
    seven, zero = Const(np.array(7, np.uint8)), Const(np.array(0, np.uint8))
    other = Var(Type("uint8", []))
    assert is_same(None, None)
    assert is_same(other, other)
    assert is_same(seven, Const(np.array(7, np.uint8)))
    assert is_same(None, zero)
    assert is_same(zero, None)
    assert not is_same(seven, zero)
    assert not is_same(None, seven)
    assert not is_same(other, seven)
    assert not is_same(None, other)


@pytest.mark.parametrize(("shape", "single"), [((), True), ((1,), True), ((2,), False), ((1, 1), False), ((0,), False)])
def test_one_scale_is_for_all_elements(shape: tuple[int, ...], single: bool) -> None:
    assert is_single(Var(Type("float32", shape))) is single
