"""`primsplit loops show`: nests of files and of index notation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL = """
    import primsplit as ps

    @ps.loops
    def amulb(C, A, B):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                C[m, n] = 0.0
                for k in range(A.shape[1]):
                    C[m, n] += A[m, k] * B[k, n]

    def squares(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * x[i]
        return total
"""


def test_a_nest_in_index_notation_is_listed(primsplit: Callable[..., Any]) -> None:
    done = primsplit("loops", "show", "C[m,n] := A[m,k] * B[k,n]")
    assert done.status == 0
    assert "for m in range(A.shape[0]), n in range(B.shape[1]), k in range(A.shape[1])" in done.out
    assert "reverse" not in done.out


def test_a_file_has_nests_that_are_decorated_or_plain(
    primsplit: Callable[..., Any], model: Callable[..., Path]
) -> None:
    path = model(MODEL)
    assert "sum(" in primsplit("loops", "show", f"{path}:amulb").out
    assert primsplit("loops", "show", f"{path}:squares").out.startswith("squares(x[:]):")


def test_tracked_arguments_have_their_derivative_listed(primsplit: Callable[..., Any]) -> None:
    text = "C[m,n] := A[m,k] * B[k,n]"
    one, both = primsplit("loops", "show", text, "--tracked", "A"), primsplit("loops", "show", text, "--tracked", "all")
    assert "d_A[m, k] = " in one.out
    assert "d_B" not in one.out
    assert "d_B[k, n] = " in both.out


def test_the_formulas_of_gradients_are_listed_alone_or_behind_the_derivative(primsplit: Callable[..., Any]) -> None:
    text = "y[i] := z[i] * exp(x[i])"
    alone, both = ((*given, "--gradient", "x") for given in ((), ("--tracked", "all")))
    assert primsplit("loops", "show", text, *alone).out.splitlines() == ["d_x[i] = d_y[i] * z[i] * exp(x[i])"]
    listed = primsplit("loops", "show", text, *both).out
    assert listed.startswith("nest(z[:], x[:]):")
    assert listed.rstrip().endswith("d_x[i] = d_y[i] * z[i] * exp(x[i])")
    assert primsplit("loops", "show", text, *alone, "--json").json["gradient"].startswith("d_x[i] = ")


def test_json_has_loops_operations_and_temporaries(primsplit: Callable[..., Any]) -> None:
    found = primsplit("loops", "show", "y[i] := z[i] * exp(x[i])", "--tracked", "x,z", "--json").json
    assert [loop["stop"] for loop in found["loops"]] == ["z.shape[0]"]
    assert [line["kind"] for line in found["operations"]] == ["load", "load", "compute", "compute", "store"]
    derivative = found["derivative"]
    assert derivative["gradients"] == {"z": "d_z", "x": "d_x"}
    assert [kept["loops"] for kept in derivative["temporaries"]] == [["i"]]


def test_what_cannot_be_read_is_told_at_its_place(primsplit: Callable[..., Any], tmp_path: Path) -> None:
    bad = primsplit("loops", "show", "C[m] := A[m,")
    assert (bad.status, "a bracket is not closed" in bad.error) == (1, True)
    missing = primsplit("loops", "show", tmp_path / "none.py")
    assert (missing.status, "cannot read" in missing.error) == (1, True)
    unknown = primsplit("loops", "show", "y[i] := x[i]", "--tracked", "w")
    assert (unknown.status, "has no array w" in unknown.error) == (1, True)
