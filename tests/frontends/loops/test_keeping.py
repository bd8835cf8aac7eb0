"""Values that a reverse nest reads: kept, read from a result, or computed again, by their costs."""

from typing import Any

import pytest

import primsplit as ps
from primsplit.frontends.loops.derivation import derive
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.sizes import check
from tests.frontends.loops.running import drawn

A, B, C = drawn(0, 3, 4), drawn(1, 4, 2), drawn(2, 3, 2)
LOG1P = "t := log1p(0.25*(C[i]-18)**2)"


@pytest.mark.parametrize(
    ("text", "by_cost", "all_kept"),
    [
        (LOG1P, [], [("i",), ("i",)]),
        ("r[i] := y[i]*exp(x[i])", [("i",)], [("i",)]),
        ("r[i] := y[i]*sqrt(x[i]+1)", [("i",)], [("i",)]),
        ("r[i] := sqrt(x[i]+1)", [], []),
        ("r[i] := y[i]*(x[i]+1)", [], [("i",)]),
        ("r[i] := x[i,j]**2 |> sqrt", [], []),
        ("r[i] = x[i,j]**2 |> sqrt", [("i",)], [("i",)]),
        ("r[i] := log(1 + exp(x[i]))", [("i",)], [("i",), ("i",)]),
        ("r[i] := w[i,j]*x[j] |> tanh", [], []),
        ("r[i] := w[i,j]*x[j] |> sigmoid", [], []),
        ("r[i] := exp(x[i,j]) |> log", [("i", "j"), ("i",)], [("i", "j"), ("i",)]),
    ],
)
def test_what_is_kept_follows_the_costs(text: str, by_cost: list[Any], all_kept: list[Any]) -> None:
    nest = parse_notation(text)
    names = [name for name, _ in nest.arguments]
    assert [t.loops for t in derive(nest, names).temporaries] == by_cost
    assert [t.loops for t in derive(nest, names, threshold=0.0).temporaries] == all_kept


def test_the_values_that_the_loss_of_the_thread_keeps_are_the_distance_and_the_logarithms_argument() -> None:
    derivation = ps.loops(LOG1P).derive("C", threshold=0.0)
    kept = [derivation.forward.operations[temporary.line] for temporary in derivation.temporaries]
    assert [line.function for line in kept] == ["subtract", "multiply"]
    (read,) = [line for line in derivation.forward.operations if line.function == "log1p"]
    assert derivation.forward.operations[read.parents[0]] == kept[1]


def test_a_temporary_tells_its_shape_and_bytes() -> None:
    nest = parse_notation("r[i,j] := y[j]*exp(x[i,j])")
    (kept,) = derive(nest, ["x", "y"]).temporaries
    sizes = check(nest, {"x": (3, 5), "y": (5,)})
    assert (kept.shape(sizes), kept.nbytes(sizes, 4)) == ((3, 5), 60)
