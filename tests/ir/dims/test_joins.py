"""Two sizes combined: the one that axes broadcast to."""

from primsplit.ir import dims
from primsplit.ir.dims import symbol
from tests.ir.dims.expressions import M, N


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
