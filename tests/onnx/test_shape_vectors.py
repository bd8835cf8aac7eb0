"""Vectors of sizes that are known in part, and the shapes that follow from them."""

import numpy as np
import pytest

from primsplit.ir import Const, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.errors import ShapeError
from primsplit.onnx.shape_vectors import declared, joined, parts_of

N = symbol("N")
SHAPE = Var(Type("int64", [2]), sizes=(N, 3))
ONE = Var(Type("int64", [1]))
X = Var(Type("float32", [N, 3]))


def test_the_elements_of_a_vector_are_sizes_or_unknown() -> None:
    assert parts_of(SHAPE, {}) == (N, 3)
    assert parts_of(ONE, {}) == (None,)
    assert parts_of(ONE, {ONE: (5,)}) == (5,)
    assert parts_of(X, {}) is None
    assert parts_of(Var(Type("float32", [2])), {}) is None
    assert parts_of(Var(Type("int64", [N])), {}) is None


@pytest.mark.parametrize("axis", [0, -1])
def test_a_join_is_told_where_part_of_it_is_known(axis: int) -> None:
    assert joined([ONE, SHAPE, ONE], {"axis": axis}, {}) == (None, N, 3, None)
    assert joined([SHAPE, ONE], {"axis": axis}, {ONE: (8,)}) is None
    assert joined([ONE, ONE], {"axis": axis}, {}) is None
    assert joined([SHAPE, X], {"axis": axis}, {}) is None
    assert joined([ONE, SHAPE], {"axis": 1}, {}) is None


def test_a_reshape_has_the_sizes_that_are_literal() -> None:
    wanted = Var(Type("int64", [4]))
    (found,) = declared("Reshape", [X, wanted], {wanted: (None, 8, -1, 0)}) or ()
    assert found.dtype == np.float32
    assert found.shape is not None
    assert [d for d in found.shape if isinstance(d, int)] == [8]
    assert len({str(d) for d in found.shape}) == 4
    with pytest.raises(ShapeError, match="size below -1"):
        declared("Reshape", [X, wanted], {wanted: (None, -2)})


def test_an_expand_keeps_sizes_and_stretches_those_of_1() -> None:
    wanted = Var(Type("int64", [3]))
    source = Var(Type("float32", [1, 3]))
    (found,) = declared("Expand", [source, wanted], {wanted: (4, None, 1)}) or ()
    assert found.shape is not None
    assert (found.shape[0], found.shape[2]) == (4, 3)
    assert not isinstance(found.shape[1], int)
    (found,) = declared("Expand", [source, wanted], {wanted: (6, 1)}) or ()
    assert found.shape == (6, 3)
    with pytest.raises(ShapeError, match="3 meets 4"):
        declared("Expand", [source, wanted], {wanted: (None, 4)})


def test_other_operators_and_unknown_vectors_are_left_alone() -> None:
    assert declared("Tile", [X, ONE], {ONE: (None,)}) is None
    assert declared("Reshape", [X, ONE], {}) is None
    assert declared("Reshape", [X, Const(np.array([3]))], {}) is None
