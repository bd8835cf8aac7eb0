"""Comparisons of sizes: right for all values of the symbols, or refused."""

from hypothesis import given

from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import UndecidableSize
from tests.ir.dims.expressions import VALUES, expressions


@given(expressions(), expressions())
def test_a_comparison_is_right_for_every_value_or_refused(a: tuple[Dim, list[int]], b: tuple[Dim, list[int]]) -> None:
    relations = {
        "==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
        ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    }  # fmt: skip
    for compare in relations.values():
        try:
            answer = compare(a[0], b[0])
        except UndecidableSize:
            continue
        assert [compare(x, y) for x, y in zip(a[1], b[1], strict=True)] == [answer] * len(VALUES)


@given(expressions(), expressions())
def test_same_sizes_are_equal_and_sizes_that_could_not_be_equal_never_are(
    a: tuple[Dim, list[int]], b: tuple[Dim, list[int]]
) -> None:
    pairs = list(zip(a[1], b[1], strict=True))
    if dims.same(a[0], b[0]):
        assert all(x == y for x, y in pairs)
    if not dims.could_be(a[0], b[0]):
        assert all(x != y for x, y in pairs)
    if dims.at_least(a[0], b[0]):
        assert all(x >= y for x, y in pairs)
    if dims.above(a[0], b[0]):
        assert all(x > y for x, y in pairs)


@given(expressions())
def test_a_lower_bound_is_never_above_the_size(made: tuple[Dim, list[int]]) -> None:
    bound = dims.lower_bound(made[0])
    assert bound is None or all(bound <= value for value in made[1])
