"""Results of ops: rounded, and told where they are too large."""

import numpy as np

from primsplit.audit.intervals.at import At, widened
from primsplit.audit.intervals.ranges import Level, interval
from primsplit.ir import Op, Type, Var


def at(dtype: str, *ranges: object) -> At:
    op = Op("Mul", (), (Var(Type(dtype, [])),))
    return At(op, [], [(np.dtype(dtype), ())], {}, lambda *_: None)


def test_a_result_that_is_too_large_is_infinite_and_told() -> None:
    here = at("float32")
    found = here.result(np.asarray(1.0), np.asarray(1e39), interval(0, 1e20, np.float32))
    assert (found.ends, found.inf) == ((1.0, np.inf), Level.CAN)
    assert [(h.kind, h.always) for h in here.hazards] == [("overflow", False)]


def test_an_operand_without_a_bound_leaves_the_result_open() -> None:
    here = at("float32")
    found = here.result(np.asarray(0.0), np.asarray(np.inf), interval(0, np.inf, np.float32))
    assert (found.inf, here.is_open, here.hazards) == (Level.UNBOUNDED, True, [])


def test_an_integer_that_is_too_large_may_be_any() -> None:
    here = at("int8")
    found = here.result(np.asarray(0.0), np.asarray(200.0), interval(0, 100, np.int8))
    assert (found.ends, [h.kind for h in here.hazards]) == ((-128.0, 127.0), ["integer overflow"])


def test_a_widened_bound_keeps_its_sign() -> None:
    low, high = widened(np.array([0.0, 1.0]), np.array([0.0, np.inf]), np.dtype(np.float32), 4)
    assert low[0] == high[0] == 0.0
    assert low[1] < 1.0
    assert high[1] == np.inf
