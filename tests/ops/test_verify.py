"""Every transform's result is checked where that is asked for."""

import pytest

from primsplit.ir import Block, Op, Type, Var
from primsplit.ir.dims import symbol
from primsplit.ir.errors import PrimsplitError
from primsplit.ops.inference import check_types
from primsplit.ops.verify import Checking, checking, verified


def test_a_wrong_declaration_is_found() -> None:
    x, y = Var(Type("float32", [symbol("N"), 3])), Var(Type("float32", [4, symbol("N")]))
    with pytest.raises(PrimsplitError, match="declared"):
        check_types(Block("f", (x,), (Op("Transpose", (x,), (y,)),), (y,)))


@pytest.fixture
def wrong() -> Block:
    """A block whose result has a type that its op does not give."""
    x, y = Var(Type("float32", [symbol("N"), 3])), Var(Type("float32", [4, symbol("N")]))
    return Block("f", (x,), (Op("Transpose", (x,), (y,)),), (y,))


def test_a_block_is_checked_where_checking_is_on(wrong: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checking, "on", False)
    assert verified(wrong) is wrong
    with checking(), pytest.raises(PrimsplitError, match="declared"):
        verified(wrong)
    assert not Checking.on


def test_checking_ends_with_the_error_that_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checking, "on", False)
    with pytest.raises(KeyError), checking(), checking():
        raise KeyError
    assert not Checking.on


def test_a_block_may_read_values_around_it() -> None:
    x, y = (Var(Type("float32", [3])) for _ in range(2))
    inner = Block("f", (), (Op("Neg", (x,), (y,)),), (y,))
    with checking():
        assert verified(inner) is inner
