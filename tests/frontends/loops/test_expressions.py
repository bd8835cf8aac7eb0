"""Expressions of nests: spellings that are one nest, and indices of every kind."""

import pytest

from primsplit.frontends.loops.loopset import Axis, Bent, Linear, Picked, Reference
from primsplit.frontends.loops.notation import parse_notation


def length(array: str, axis: int) -> Linear:
    return Linear(((Axis(array, axis), 1),))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C[m,n]:=A[m,k]*B[k,n]", "C[m, n] := A[m, k] * B[k, n]  # a product"),
        ("C[m] := A[m,k]", "(+) C[m] := (\n  A[m,k]\n)"),
        ("y[i] := x[i]; z[i] := y[i]", "\ny[i] := x[i]\n\nz[i] := y[i]\n"),
        ("y[i] := sqrt(x[i])", "y[i] := x[i] |> np.sqrt"),
        ("y[i] := x[i] / 2", "y[i] := x[i] |> _ / 2"),
        ("y[i] := abs2(x[i]) + sigmoid(x[i])", "y[i] := x[i]**2 + scipy.special.expit(x[i])"),
        ("y[i] := muladd(x[i], x[i], 1)", "y[i] := x[i]*x[i] + 1"),
        ("y[i] := where(x[i] > 0 and not i < 3, x[i], 0)", "y[i] := x[i] if (x[i] > 0) & ~(i < 3) else 0"),
        ("y[i] := (0 <= x[i]) & (x[i] < 1)", "y[i] := 0 <= x[i] < 1"),
        ("y[i] := -0.5 * x[2*i + 1]", "y[i] := (-0.5) * x[1 + i*2]"),
        ("y[i] := x[i], i in range(3)", "y[i] := x[i], i in range(0, 3)"),
    ],
)
def test_two_spellings_are_one_nest(one: str, other: str) -> None:
    assert parse_notation(one) == parse_notation(other)


def test_indices_are_affine_picked_or_bent() -> None:
    nest = parse_notation("y[i] := A[rows[i], 2*i - 1] + B[mod(i + 1), clamp(i), pad(i - 1, 0.5)]")
    loads = [line.reference for line in nest.operations if line.kind == "load"]
    i = Linear((("i", 1),))
    assert loads[0] == Reference("A", (Picked(Reference("rows", (i,))), Linear((("i", 2),), -1)))
    assert loads[1] == Reference(
        "B",
        (
            Bent("mod", i + 1, length("B", 0)),
            Bent("clamp", i, length("B", 1)),
            Bent("pad", i - 1, length("B", 2), 0.5),
        ),
    )
