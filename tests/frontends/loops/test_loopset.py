"""A loop nest as data: linear expressions in one form, and lines over the loops that they depend on."""

from primsplit.frontends.loops.loopset import Axis, Linear
from primsplit.frontends.loops.notation import parse_notation

TURN, OTHER, LENGTH = Linear((("i", 1),)), Linear((("j", 1),)), Linear(((Axis("x", 0), 1),))


def test_linear_expressions_have_one_form_each() -> None:
    assert TURN + OTHER == OTHER + TURN
    assert Linear((), 2) == TURN + 2 - TURN
    assert (TURN * 2 + OTHER) - OTHER == TURN * 2
    assert Linear() == TURN * 0
    assert Linear.of([("i", 2), ("j", 1), ("i", -2)], 3) == OTHER + 3
    assert (LENGTH - TURN - 1).offset == -1


def test_symbols_of_an_expression_are_loops_and_axes() -> None:
    assert {*(LENGTH + TURN * 3 - 2).symbols()} == {"i", Axis("x", 0)}


def test_two_spellings_of_a_nest_are_equal_as_data() -> None:
    one, other = (parse_notation(text) for text in ("C[m,n] := A[m,k]*B[k,n]", "C[i,j] := A[i,l] * B[l,j]"))
    assert [o.kind for o in one.operations] == ["load", "load", "compute", "reduce", "store"]
    assert [o.kind for o in one.operations] == [o.kind for o in other.operations]
    assert [sorted(o.loops) for o in one.operations] == [
        ["k", "m"],
        ["k", "n"],
        ["k", "m", "n"],
        ["m", "n"],
        ["m", "n"],
    ]
    assert one == parse_notation("C[m, n] := (A[m, k] * B[k, n])")
    assert one != other
