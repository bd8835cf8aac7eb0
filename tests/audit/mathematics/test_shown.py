"""A statement has those in its body below it."""

import ast

from primsplit.audit.mathematics.shown import Shown
from primsplit.ir import Op


def test_a_walk_goes_through_bodies_in_order() -> None:
    op = Op("Add", (), (), {})
    inner = [Shown(op=op, ops=[op], target=t, value=ast.Name("x", ast.Load())) for t in "ab"]
    head = Shown(op=op, ops=[], head="for t in range({}):", below=[inner[0], Shown(op=op, ops=[], head="else:")])
    head.below[1].below.append(inner[1])
    assert [line.target or line.head for line in head.walk()] == ["for t in range({}):", "a", "else:", "b"]
