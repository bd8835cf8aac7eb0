"""The notation that is accepted, and its errors: at the place, with the next thing to write."""

import pytest

from primsplit.frontends.loops.loopset import Axis, Linear, Loop, LoopSet, Operation, Reference
from primsplit.frontends.loops.notation import parse_notation
from primsplit.ir.errors import ParseError

M, N, K = Linear((("m", 1),)), Linear((("n", 1),)), Linear((("k", 1),))


def length(array: str, axis: int) -> Linear:
    return Linear(((Axis(array, axis), 1),))


def test_amulb_is_its_loops_and_five_lines() -> None:
    assert parse_notation("C[m,n] += A[m,k]*B[k,n]") == LoopSet(
        arguments=(("C", 2), ("A", 2), ("B", 2)),
        loops=(
            Loop("m", Linear(), length("A", 0)),
            Loop("n", Linear(), length("B", 1)),
            Loop("k", Linear(), length("A", 1)),
        ),
        operations=(
            Operation("load", ("m", "k"), reference=Reference("A", (M, K))),
            Operation("load", ("n", "k"), reference=Reference("B", (K, N))),
            Operation("compute", ("m", "n", "k"), function="multiply", parents=(0, 1)),
            Operation("reduce", ("m", "n"), function="add", parents=(2,), reduced=("k",)),
            Operation("store", ("m", "n"), parents=(3,), reference=Reference("C", (M, N)), adds=True, makes="C.1"),
        ),
        results=(("C", "C.1"),),
    )


def test_arguments_are_in_the_order_of_their_appearance_and_whole_numbers_last() -> None:
    nest = parse_notation("y[i] += s * A[rows[i], j + $n] * b[j]")
    assert nest.arguments == (("y", 1), ("s", 0), ("A", 2), ("rows", 1), ("b", 1), ("n", 0))
    assert nest.integers == ("n",)


def test_an_array_that_a_statement_makes_is_no_argument() -> None:
    nest = parse_notation("y[i] := x[i,j]; y[i] *= 2; t := y[i]")
    assert nest.arguments == (("x", 2),)
    assert nest.results == (("y", "y.1"), ("t", "t"))
    assert dict(nest.shapes) == {"y": (length("x", 0),), "t": ()}


def test_each_statement_has_its_own_loops() -> None:
    nest = parse_notation("y[i] := A[i,j]; z[i] := B[i,j]; u[i] := A[i,j]")
    assert [loop.name for loop in nest.loops] == ["i", "j", "i_2", "j_2"]
    assert nest.operations[-1].loops == ("i",)


REFUSED = [
    ("C[m,n] := A[m,k]*B[k", "a bracket is not closed", 20),
    ("y[i] x[i]", "a statement has an operator: =, :=", 9),
    ("y[i] := x[i] +* 3", "this cannot be read: invalid syntax", 14),
    ("y[i] := eexp(x[i])", "no function of numbers is called eexp\n.*Did you mean exp", 8),
    ("y[i] := sum(x[i,j])", "no function of numbers is called sum\n.*a statement of its own", 8),
    ("y[i] := exp(x[i], 2)", "exp takes 1 arguments, not 2", 8),
    ("y[i] := exp(x=x[i])", "functions of a nest have no named arguments", 8),
    ("y[i] := x[i] + x[i,j]", "x has 2 indices here and 1 elsewhere", 15),
    ("y[i] := x[i*j]", "an index is no product of loops", 10),
    ("y[i] := x[i//2]", "this is no index of a nest", 10),
    ("y[i] := x[i:]", "a nest has no slices", 10),
    ("y[i] := x[i] @ x[i]", "a nest has no such operator\n.*A.i, k. . B.k, j.", 8),
    ("y[i] := [x[i]]", "a nest has no such expression", 8),
    ("y[i] := 'a' + x[i]", "a nest has no such expression", 8),
    ("y[i] := x[i] in x[i]", "a nest has no such comparison", 8),
    ("y[i] := 1.0", "no axis tells the range of i\n.*i in range.5.", 2),
    ("y[i+j] := x[i+j]", "no axis tells the range of i", 2),
    ("y[i] = y[i-1] + x[i]", "y is read at another element than is written\n.*np.cumsum", 7),
    ("y[i] := y[i] + x[i]", "y is made here, and read before", 8),
    ("y[r[i]] = x[i]", "several turns of the loops may write one element", 0),
    ("y[i+j] = x[i]*k[j]", "several turns of the loops may write one element", 0),
    ("y[r[i]] max= x[i]", "several turns of the loops may write one element", 0),
    ("y[r[i]] := x[i]", "an array that is made has an index that tells its length", 2),
    ("y[pad(i)] := x[i]", "an array that is made has an index that tells its length", 2),
    ("y[i] := x[i]; y[i] := x[i]", "y exists already\n.*Overwrite its elements with =", 0),
    ("y[i] += x[i,j] |> sqrt", "a sum that \\+= adds has no finaliser", 18),
    ("y[i] := x[i,j] |> _ * w[j]", "a finaliser has no loop that was combined", 18),
    ("y[i] := x[j] * (j <= i), i in range(j)", "a range may not depend on a loop\n.*mask", 36),
    ("y[i] := x[i], i in range(0, 6, 2)", "a range has no step", 31),
    ("y[i] := x[i], i in 5", "this is no range", 14),
    ("(max) y[i] += x[i,j]", "\\+= says how to combine, and so does \\(max\\)", 11),
    ("f(i) := x[i]", "what a statement writes is an array's element", 0),
    ("y[i] := x[len(q)-i]", "the nest indexes no array q with an axis 0", 10),
    ("y[i] := x[i] * x.shape[2]", "the nest indexes no array x with an axis 2", 15),
    ("y[i] := i[i]*x[i]", "i is a number, not an array", 8),
    ("y[i] := x[pad(i, i)]", "what pad fills with is a number", 17),
    ("y[i] := x[mod(i, 2, 3)]", "mod takes an index, and a length", 10),
    ("y[i] :=", "an expression is missing", 7),
    ("y[i] := x[i] |> ", "an expression is missing", 15),
    ("y[i] := x[i].T", "a nest has no such expression", 8),
    ("y[i] := x[i][j]", "this is no element of an array", 8),
    ("y[i], z[i] := x[i]", "what a statement writes is an array's element", 0),
    ("$n := x[i]", "n is a number, not an array", 1),
    ("ä[i] := ö[i]*foo(ö[i])", "no function of numbers is called foo", 13),
    ("", "the notation of a nest has no statement", 0),
]


@pytest.mark.parametrize(("text", "what", "column"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_read_is_told_at_its_place(text: str, what: str, column: int) -> None:
    with pytest.raises(ParseError, match=f"(?s){what}") as caught:
        parse_notation(text)
    shown = str(caught.value).splitlines()
    assert len(shown) < 10
    if text and column:
        assert shown[2].index("^") - 2 == column


def test_a_statement_is_told_by_its_line() -> None:
    with pytest.raises(ParseError, match=r"line 3: no function of numbers is called foo\n  z\[i\] := foo"):
        parse_notation("y[i] := x[i]\n\n  z[i] := foo(x[i])")
    with pytest.raises(ParseError, match=r"line 1: no function of numbers is called foo\n  z\[i\] := foo"):
        parse_notation("z[i] := foo(x[i])\ny[i] := x[i]")
    with pytest.raises(ParseError, match=r"line 2: no function of numbers is called foo\n  z\[i\] := foo"):
        parse_notation("y[i] := (x[i]\n  + 1); z[i] := foo(x[i])")
