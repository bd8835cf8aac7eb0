"""Sizes read from their texts."""

import pytest
from hypothesis import given

from primsplit.ir import dims
from primsplit.ir.dims import Dim, symbol
from tests.ir.dims.expressions import expressions


@given(expressions())
def test_a_size_parses_as_it_prints(made: tuple[Dim, list[int]]) -> None:
    size, _ = made
    assert dims.same(dims.parse(str(size)), size)


@pytest.mark.parametrize("name", ["batch size", "unk__12", "N.1", "2", "größe", "a/b", "None", "True", "f(x)", ""])
def test_an_unusual_symbol_is_still_a_symbol(name: str) -> None:
    assert dims.symbols(symbol(name)) == {name}
    assert dims.evaluate(symbol(name) * 2 + 1, {name: 4}) == 9
