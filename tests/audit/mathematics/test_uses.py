"""The readers of values are counted where the listing shows them."""

import ast

from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.mathematics.uses import Uses
from primsplit.audit.statements import Assignment, Branch, Suite
from primsplit.ir import Op


def assign(text: str, section: str = "forward") -> Assignment:
    target, value = text.split(" = ")
    op = Op("Add", (None,), (), {})
    return Assignment(op=op, ops=(op,), targets=(target,), section=section, value=ast.parse(value, mode="eval").body)


class NoSizes(Sizes):
    def __init__(self) -> None:
        self.is_folded = False


def test_readers_are_counted_with_their_body_and_section() -> None:
    side = Suite((assign("z = b", ""),), (("z", ast.Name("z", ast.Load())),))
    op = Op("If", (None,), (), {})
    test = ast.Name("c", ast.Load())
    branch = Branch(op=op, ops=(op,), targets=("z",), section="forward", test=test, sides=(side, side))
    uses = Uses()
    uses.count([assign("b = a * a"), assign("d = e", "backward"), branch], NoSizes())
    assert uses.count_of("a") == 1
    assert uses.count_of("b") == 2
    assert uses.is_once("e", 0, "backward")
    assert not uses.is_once("e", 0, "forward")
    assert not uses.is_once("b", 0, "forward")
    assert uses.is_near("b", id(side))
    assert uses.is_test("c")
    assert not uses.is_test("a")
    uses.keep(["e"])
    assert not uses.is_once("e", 0, "backward")
