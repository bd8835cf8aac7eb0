"""Sizes combined: the one that axes broadcast to. Shapes broadcast as NumPy's, at every value of symbolic sizes."""

import itertools

import numpy as np
import pytest

from primsplit.ir import dims
from primsplit.ir.dims import broadcast_shapes, symbol
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from tests.ir.dims.expressions import M, N
from tests.recording import record


def test_broadcast_sizes_take_the_one_that_is_not_1_and_are_associative() -> None:
    met = dims.meet(dims.meet(N, M), symbol("K"))
    other = dims.meet(N, dims.meet(symbol("K"), M))
    assert met is not None
    assert other is not None
    assert dims.same(met, other)
    assert dims.evaluate(met, {"N": 1, "M": 4, "K": 1}) == 4
    assert dims.evaluate(met, {"N": 1, "M": 0, "K": 1}) == 0


def test_sizes_that_never_meet_are_refused_and_a_known_size_wins() -> None:
    assert dims.meet(3, 4) is None
    assert dims.meet(N, 4) == 4
    met = dims.meet(N, 1)
    assert met is not None
    assert dims.same(met, N)


def test_two_symbols_are_never_taken_for_equal() -> None:
    (result,) = record(lambda x, y: op.Add(x, y), "float32[N]", "float32[M]").results
    assert str(result.type) == "float32[broadcast(M, N)]"


SHAPES = [(), (1,), (3,), (0,), (4, 1), (4, 3), (1, 3), (2, 1, 1), (2, 4, 3), (4, 0)]


@pytest.mark.parametrize("first", SHAPES, ids=str)
def test_literal_shapes_broadcast_as_numpys(first: tuple[int, ...]) -> None:
    for others in itertools.chain(((s,) for s in SHAPES), itertools.combinations(SHAPES, 2)):
        try:
            wanted = np.broadcast_shapes(first, *others)
        except ValueError:
            with pytest.raises(ShapeError, match="cannot broadcast"):
                broadcast_shapes(first, *others)
        else:
            assert broadcast_shapes(first, *others) == wanted


def test_no_shape_is_that_of_a_number() -> None:
    assert broadcast_shapes() == ()


def test_a_symbol_is_that_size_unless_the_other_one_may_be_larger() -> None:
    n, m = symbol("N"), symbol("M")
    assert broadcast_shapes((n, 1), (5,)) == (n, 5)
    assert broadcast_shapes((n,), (n,)) == (n,)
    assert broadcast_shapes((n,), (3,)) == (3,)  # N is 1 or 3, or the run fails
    (both,) = broadcast_shapes((n,), (m,))
    for sizes in ({"N": 1, "M": 4}, {"N": 4, "M": 1}, {"N": 4, "M": 4}, {"N": 1, "M": 0}):
        assert dims.evaluate(both, sizes) == np.broadcast_shapes((sizes["N"],), (sizes["M"],))[0]
