"""Nests mean what NumPy computes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.notation import parse_notation
from tests.frontends.loops.running import drawn

A, B, C = drawn(0, 3, 4), drawn(1, 4, 2), drawn(2, 3, 2)
X, K = drawn(3, 7), drawn(4, 3)
ROWS = np.array([2, 0, 1, 2])
SQUARE = drawn(5, 3, 3)


def scattered(y: Any, x: Any) -> Any:
    total = y.copy()
    np.add.at(total, ROWS, x)
    return total


MEANINGS: list[tuple[str, dict[str, Any], Callable[[], Any]]] = [
    ("y[m,n] := A[m,k]*B[k,n]", {"A": A, "B": B}, lambda: A @ B),
    ("y[m,n] += A[m,k]*B[k,n]", {"y": C, "A": A, "B": B}, lambda: C + A @ B),
    ("y[m,n] -= A[m,k]*B[k,n]", {"y": C, "A": A, "B": B}, lambda: C - A @ B),
    ("y[m,n] = A[m,k]*B[k,n]", {"y": C, "A": A, "B": B}, lambda: A @ B),
    ("y[n,m] := A[m,n]", {"A": A}, lambda: A.T),
    ("y := A[i,j]**2", {"A": A}, lambda: np.sum(A**2)),
    ("(max) y[i] := A[i,j]", {"A": A}, lambda: A.max(1)),
    ("(min) y[i] := A[i,j]", {"A": A}, lambda: A.min(1)),
    ("(*) y[j] := A[i,j]", {"A": A}, lambda: A.prod(0)),
    ("y[j] max= A[i,j]", {"y": np.ones(4), "A": A}, lambda: np.maximum(1, A.max(0))),
    ("y[j] min= A[i,j]", {"y": np.ones(4), "A": A}, lambda: np.minimum(1, A.min(0))),
    ("y[j] *= A[i,j]", {"y": np.full(4, 2.0), "A": A}, lambda: 2 * A.prod(0)),
    ("y[i] := A[i,j]**2 |> sqrt", {"A": A}, lambda: np.linalg.norm(A, axis=1)),
    ("y[i] := A[i,j] |> exp(_ / 4) |> log", {"A": A}, lambda: A.mean(1)),
    ("y[i] := x[i+a]*k[a]", {"x": X, "k": K}, lambda: np.correlate(X, K, "valid")),
    ("y[i] := x[2*i+a]*k[a]", {"x": X, "k": K}, lambda: np.correlate(X, K, "valid")[::2]),
    ("y[i+j] += x[i]*k[j]", {"y": np.zeros(9), "x": X, "k": K}, lambda: np.convolve(X, K)),
    ("y[i] := x[$n-i]", {"x": X, "n": 6}, lambda: X[::-1]),
    ("y[i] := x[i] - x[-1] * A[-2, 0]", {"x": X, "A": A}, lambda: X - X[-1] * A[-2, 0]),
    ("y[i] := x[mod(i-2)]", {"x": X}, lambda: np.roll(X, 2)),
    ("y[i] := x[clamp(i-2)]", {"x": X}, lambda: np.pad(X, (2, 0), mode="edge")[:7]),
    ("y[i] := x[pad(i-2, 3.5)]", {"x": X}, lambda: np.pad(X, (2, 0), constant_values=3.5)[:7]),
    ("y[i,j] := A[rows[i], j]", {"A": A, "rows": ROWS}, lambda: A[ROWS]),
    ("y[rows[i]] += x[i]", {"y": np.ones(3), "rows": ROWS, "x": X[:4]}, lambda: scattered(np.ones(3), X[:4])),
    ("y := S[i,i]", {"S": SQUARE}, lambda: np.trace(SQUARE)),
    ("y[i,i] = A[i]", {"y": SQUARE, "A": K}, lambda: SQUARE - np.diag(np.diag(SQUARE)) + np.diag(K)),
    ("y[i] := x[j] * (j <= i), i in range(len(x))", {"x": X}, lambda: np.cumsum(X)),
    ("y[i] := x[i] if 2 <= i < 4 else -x[i]", {"x": X}, lambda: np.where((np.arange(7) // 2) == 1, X, -X)),
    ("y[i] := x[i] / len(x)", {"x": X}, lambda: X / 7),
    ("y[i] := fnma(x[i], x[i], i) - fnms(x[i], 2.0, i)", {"x": X}, lambda: 2 * np.arange(7) - X * X + 2 * X),
    ("y[i] := fma(x[i], 2.0, i) + fms(x[i], x[i], 1)", {"x": X}, lambda: 2 * X + np.arange(7) + X * X - 1),
    (
        "y[i] := max(x[i], 0.5, np.pi * 0.1) - np.minimum(x[i], 1)",
        {"x": X},
        lambda: np.maximum(X, 0.5) - np.minimum(X, 1),
    ),
    ("y[i] := clip(x[i], -1, 1) + x[i] % 2 + x[i] // 2", {"x": X}, lambda: np.clip(X, -1, 1) + X % 2 + X // 2),
    ("(max) m := x[i]; z := exp(x[i] - m); y[i] := exp(x[i] - m) / z", {"x": X}, lambda: np.exp(X) / np.exp(X).sum()),
]


@pytest.mark.parametrize(("text", "arrays", "meaning"), MEANINGS, ids=[row[0] for row in MEANINGS])
def test_a_nest_means_what_numpy_computes(text: str, arrays: dict[str, Any], meaning: Callable[[], Any]) -> None:
    np.testing.assert_allclose(interpret(parse_notation(text), arrays)["y"], meaning(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y := x[i]", 0.0),
        ("(*) y := x[i]", 1.0),
        ("(max) y := x[i]", -np.inf),
        ("(min) y := x[i]", np.inf),
        ("y[i] := x[i]", []),
        ("y[j] := A[i,j]*x[i]", [0.0, 0.0]),
    ],
)
def test_an_empty_loop_stores_nothing_and_reduces_to_the_identity(text: str, expected: Any) -> None:
    np.testing.assert_array_equal(
        interpret(parse_notation(text), {"x": np.zeros(0), "A": np.zeros((0, 2))})["y"], expected
    )


@pytest.mark.parametrize(
    "text",
    [
        "y[i] := 0.5 * x[i] * i + 2",
        "y[i] := x[i] * (x[i] > 0) * 2.0",
        "y[i] := where(x[i] > 0, 1.0, 0.0) * x[i]",
        "y[i] := x[i] / len(x)",
        "(max) y := exp(x[i]) + expit(x[i]) + erf(x[i])",
    ],
)
def test_a_nest_of_float32_stays_float32(text: str) -> None:
    assert interpret(parse_notation(text), {"x": X.astype(np.float32)})["y"].dtype == np.float32


def test_a_sum_of_truths_counts_them() -> None:
    assert interpret(parse_notation("y := x[i] > 0"), {"x": X})["y"] == np.sum(X > 0)


def test_an_array_that_is_made_is_zero_where_no_turn_goes() -> None:
    found = interpret(parse_notation("y[2*i+1] := x[i]"), {"x": np.array([1.0, 2.0])})["y"]
    np.testing.assert_array_equal(found, [0.0, 1.0, 0.0, 2.0])


def test_a_function_of_the_users_is_called_by_its_name() -> None:
    nest = parse_notation("y[i] := softplus(x[i])", functions=["softplus"])
    found = interpret(nest, {"x": X}, functions={"softplus": lambda x: np.logaddexp(0, x)})["y"]
    np.testing.assert_allclose(found, np.log1p(np.exp(X)))
