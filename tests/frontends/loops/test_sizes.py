"""The sizes of a nest at a call: lengths that agree, ranks, and indices that stay inside."""

from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.python_nest import parse_function
from primsplit.frontends.loops.sizes import check
from primsplit.ir.dims import symbol
from primsplit.ir.errors import IndexingError, ShapeError


def test_sizes_are_symbols_of_the_program() -> None:
    n, k = symbol("N"), symbol("K")
    sizes = check(parse_notation("y[i] := x[i+a]*k[a]"), {"x": (n,), "k": (k,)})
    assert str(sizes.ranges["i"][1]) == str(n - k + 1) or str(sizes.ranges["i"][1]).startswith("max")
    assert str(sizes.ranges["a"]) == str((0, k))


def test_equal_symbols_agree_and_indices_that_stay_inside_of_them_are_proven() -> None:
    n = symbol("N")
    for text in ("y[i] := x[i]*z[i]", "y[i] := x[i-1] + z[i+1]", "y[i] := x[i] + z[i+1], i in range(len(x) - 1)"):
        check(parse_notation(text), {"x": (n,), "z": (n,)})


def test_lengths_that_differ_name_both_axes() -> None:
    nest = parse_notation("C[m,n] := A[m,k]*B[k,n]")
    with pytest.raises(ShapeError, match=r"^k is 5 by A's axis 1 and 4 by B's axis 0\n"):
        check(nest, {"A": (3, 5), "B": (4, 2)})


def test_lengths_that_may_differ_are_refused_with_a_way_out() -> None:
    nest = parse_notation("C[m,n] := A[m,k]*B[k,n]")
    with pytest.raises(ShapeError, match=r"k is K by A's axis 1 and L by B's axis 0, which may differ.*\n.*one size"):
        check(nest, {"A": (3, symbol("K")), "B": (symbol("L"), 2)})


def test_an_array_that_is_written_has_to_agree_too() -> None:
    with pytest.raises(ShapeError, match=r"m is 3 by C's axis 0 and 4 by A's axis 0|m is 4 by A's axis 0 and 3 by C's"):
        check(parse_notation("C[m] = A[m]"), {"C": (3,), "A": (4,)})


def test_ranks_have_to_be_those_of_the_indices() -> None:
    with pytest.raises(ShapeError, match="A has 3 axes, and 2 indices"):
        check(parse_notation("y[i] := A[i,j]"), {"A": (1, 2, 3)})


@pytest.mark.parametrize(
    ("text", "shapes", "what"),
    [
        ("y[i] := x[i], i in range(9)", {"x": (8,)}, "an index of x's axis 0, of length 8, runs from 0 to 8"),
        ("y[i] := x[i-1], i in range(3)", {"x": (8,)}, "of length 8, runs from -1 to 1"),
        ("y[i] := x[i], i in range(3)", {"x": (symbol("N"),)}, "of length N, may run from 0 to 2"),
        ("y[i] += x[i+a]*k[a]", {"y": (6,), "x": (7,), "k": (3,)}, "x's axis 0, of length 7, runs from 0 to 7"),
        ("y := x[3]", {"x": (3,)}, "x's axis 0, of length 3, runs from 3 to 3"),
        ("y[i] := x[mod(i, 4)]", {"x": (3,)}, "x's axis 0, of length 3, runs from 0 to 3"),
    ],
)
def test_an_index_that_leaves_its_axis_is_refused(text: str, shapes: dict[str, Any], what: str) -> None:
    with pytest.raises(IndexingError, match=what):
        check(parse_notation(text), shapes)


def test_an_array_that_a_function_makes_is_not_written_outside_of() -> None:
    def fill(x):
        y = np.zeros(3)
        for i in range(len(x)):
            y[i] = x[i]
        return y

    nest = parse_function(fill)
    assert check(nest, {"x": (3,)}).shapes["y"] == (3,)
    with pytest.raises(IndexingError, match="y's axis 0, of length 3, runs from 0 to 3"):
        check(nest, {"x": (4,)})


def test_an_array_that_is_made_agrees_by_the_length_that_it_is_said_to_have() -> None:
    n = symbol("N")
    nest = parse_notation("y[i] := x[i+1] - x[i]; z[i] := y[i]*w[i]")
    check(nest, {"x": (n,), "w": (n - 1,)})
    check(nest, {"x": (0,), "w": (0,)})
    with pytest.raises(ShapeError, match="i is 3 by y's axis 0 and 4 by w's axis 0"):
        check(nest, {"x": (4,), "w": (4,)})


def test_a_range_that_is_told_needs_only_to_stay_inside() -> None:
    sizes = check(parse_notation("y[i] := x[i] + z[i], i in range(2, $n)"), {"x": (8,), "z": (6,), "n": ()}, {"n": 5})
    assert sizes.ranges["i"] == (2, 5)


def test_an_empty_range_has_no_index_that_leaves() -> None:
    check(parse_notation("y[i] := x[i+3], i in range(0)"), {"x": (2,)})
    assert check(parse_notation("y[i] := x[i], i in range(3, 1)"), {"x": (5,)}).ranges["i"] == (3, 3)
