"""Index expressions of every kind, with arrays to run them on, and which of their axes are equally long.

`axes` names the sizes of each array's axes for specs, in the order of `arrays`; "" where sizes are to be numbers.
"""

from typing import Any, NamedTuple

import numpy as np

_RANDOM = np.random.default_rng(23)


class Row(NamedTuple):
    """A nest, its arrays, and the sizes of their axes."""

    text: str
    arrays: dict[str, Any]
    axes: str = ""


def _(*shape: int) -> Any:
    return _RANDOM.normal(size=shape)


A, B, S, T = _(4, 5), _(5, 3), _(4, 4), _(3, 4, 5)
X, K, V = _(9), _(3), _(5)
ROWS, COLUMNS = np.array([1, 2, 0, 1, 1]), np.array([0, 1, 2, 0, 1])

CONTRACTIONS = [
    Row("C[m,n] := A[m,k]*B[k,n]", {"A": A, "B": B}, "M K; K N"),
    Row("C[m,n] += A[m,k]*B[k,n]", {"A": A, "B": B, "C": _(4, 3)}, "M K; K N; M N"),
    Row("C[m,n] := A[m,k]*B[n,k]", {"A": A, "B": _(3, 5)}, "M K; N K"),
    Row("C[b,m,n] := A[b,m,k]*B[b,k,n]", {"A": _(2, 3, 4), "B": _(2, 4, 5)}, "B M K; B K N"),
    Row("y[m] := A[m,k]*v[k]", {"A": A, "v": V}, "M K; K"),
    Row("y[m] := A[m,k]*B[m,k]", {"A": A, "B": _(4, 5)}, "M K; M K"),
    Row("y[m,n] := v[m]*x[n]", {"v": V, "x": X}, "M; N"),
    Row("t := A[i,j]*v[j]*u[i]", {"A": A, "v": V, "u": _(4)}, "I J; J; I"),
    Row("y[j] := v[i]*A[m,i]*A[m,j]", {"v": V, "A": A}, "I; M I"),
    Row(
        "r := P[a,i,j]*Q[b,j,k]*O[a,b]*N[k,i]",
        {"P": _(2, 3, 4), "Q": _(3, 4, 2), "O": _(2, 3), "N": _(2, 3)},
        "A I J; B J K; A B; K I",
    ),
    Row("C[m,n] := A[m,k]*B[k,n] if m <= k else 0", {"A": A, "B": B}, "M K; K N"),
    Row("C[m,n] := (m <= k)*A[m,k]*B[k,n]", {"A": A, "B": B}, "M K; K N"),
    Row("C[m,n] := A[m,k]*B[k,n]/z[m] - A[m,k]", {"A": A, "B": B, "z": 2 + _(4) ** 2}, "M K; K N; M"),
    Row("C[m,n] := A[m,k]*B[k,n]/3", {"A": A, "B": B}, "M K; K N"),
    Row("C[m,n] := -A[m,k]*exp(B[k,n])", {"A": A, "B": B}, "M K; K N"),
]
ELEMENTWISE = [
    Row("t := log1p(0.25*(C[i]-18)**2)", {"C": 18 + V}, "I"),
    Row("P[k,i,j] := T[i,j,k]", {"T": T}, "I J K"),
    Row("y[m] := W[m,k]*v[k] + b[m]/5 |> tanh", {"W": A, "v": V, "b": _(4)}, "M K; K; M"),
    Row("l[i] := exp(A[i,j]) |> log", {"A": A}, "I J"),
    Row("n[i] := A[i,j]**2 |> sqrt", {"A": A}, "I J"),
    Row("y[i] := x[i]*i/2 + sin(x[i])", {"x": X}, "I"),
    Row("s[i] := v[i] + 1; y[i] := s[i]*s[i]", {"v": V}, "I"),
    Row("t := A[i,j]*(i <= j)", {"A": A}, "I J"),
    Row("(max) y[i] := A[i,j]", {"A": A}, "I J"),
    Row("(min) y := A[i,j]", {"A": A}, "I J"),
    Row("(*) y[i] := A[i,j]", {"A": A}, "I J"),
]
DIAGONALS = [
    Row("t := S[i,i]", {"S": S}, "I I"),
    Row("D[k] := 22*x[i,i,k]", {"x": _(4, 4, 3)}, "I I K"),
    Row("D[i,i] := sqrt(abs(v[i]))", {"v": V}, "I"),
    Row("D[i,i] = exp(v[i])", {"v": V, "D": _(5, 5)}, "I; I I"),
    Row("y[i] := x[pad(i-1, 2.0), pad(i+1, 3.0)]*x[i,i]", {"x": S}, "I I"),
    Row("D[i,pad(i-1)] += v[i]", {"v": V, "D": _(5, 5)}, "I; I I"),
    Row("D[i,i] += v[i]*u[j]", {"v": V, "u": X, "D": _(5, 5)}, "I; J; I I"),
]
SHIFTS = [
    Row("y[i] := x[i+1] - x[i]", {"x": X}, "N"),
    Row("y[i] := x[i-1] + x[i+1] - 2*x[i]", {"x": X}, "N"),
    Row("y[i] := x[2*i]*x[2*i+1]", {"x": X}, "N"),
    Row("y[i] := x[8-i]", {"x": X}),
    Row("y[i] := x[mod(i+1)]", {"x": X}, "N"),
    Row("y[i] := x[clamp(i-1)] + 0*x[i]", {"x": X}, "N"),
    Row("y[i] := x[pad(i-1, 2.0)]*x[i]", {"x": X}, "N"),
    Row("y[2*i] = v[i]", {"v": V, "y": _(12)}),
    Row("y[i+2] += v[i]", {"v": V, "y": _(12)}),
    Row("y[i+1] = v[i]", {"v": V, "y": _(12)}),
    Row("y[mod(i+2)] += v[i]", {"v": V, "y": _(4)}, "N; M"),
    Row("y[clamp(i-1)] += v[i]", {"v": V, "y": _(4)}, "N; M"),
    Row("y[pad(i-1)] += v[i]", {"v": V, "y": _(4)}, "N; M"),
]
WINDOWS = [
    Row("y[i] := x[i+a]*k[a]", {"x": X, "k": K}, "N; K"),
    Row("y[i] := x[i-a]*k[a]", {"x": X, "k": K}, "N; K"),
    Row("y[i] := x[2*i+a]*k[a]", {"x": X, "k": K}, "N; K"),
    Row("y[i] := x[i+2*a]*k[a]", {"x": X, "k": K}, "N; K"),
    Row("y[i] := x[i+a]*k[a], a in range(len(k))", {"x": X, "k": K}, "N; K"),
    Row("y[i] := x[pad(i+a-1)]*k[a], i in range(len(x))", {"x": X, "k": K}, "N; K"),
    Row("y[i] := x[mod(i+a)]*k[a], i in range(len(x))", {"x": X, "k": K}, "N; K"),
    Row("y[i+a] += x[i]*k[a]", {"x": X, "k": K, "y": _(12)}),
    Row("y[2*i+a] += x[i]*k[a]", {"x": X, "k": K, "y": _(21)}),
    Row("y[i+j] += v[i]*k[j]*u[i,j]", {"v": V, "k": K, "u": _(5, 3), "y": _(7)}),
    Row("y[i,a] := x[i+a], a in range(3)", {"x": X}),
    Row("y[i] := x[i+a+b]*k[a]*v[b]", {"x": X, "k": K, "v": V}, "N; K; L"),
    Row("y[b,o,i,j] := x[b,c,i+p,j+q]*k[o,c,p,q]", {"x": _(2, 2, 3, 4), "k": _(2, 2, 2, 3)}, "B C H W; O C P Q"),
    Row("y[g,o,i] := x[g,c,2*i+a]*k[g,o,c,a]", {"x": _(2, 2, 7), "k": _(2, 3, 2, 3)}, "2 C N; 2 O C K"),
    Row("y[c,i] := x[c,i+p]*k[c,p]", {"x": _(2, 6), "k": _(2, 3)}, "2 N; 2 K"),
]
INDICES = [
    Row("y[i] := A[rows[i],j]", {"A": A, "rows": ROWS}, "M J; I"),
    Row("y[i,j] := A[rows[i],j]*B[j,columns[i]]", {"A": A, "rows": ROWS, "B": B, "columns": COLUMNS}, "M J; I; J N; I"),
    Row("y[i] := A[rows[i],i]", {"A": A, "rows": ROWS}, "M I; I"),
    Row("y[rows[i]] += v[i]", {"rows": ROWS, "v": V, "y": _(4)}, "I; I; M"),
    Row("y[rows[i],j] += B[i,j]", {"rows": ROWS, "B": B, "y": _(4, 3)}, "I; I J; M J"),
    Row("D[i,rows[i]] = v[i]", {"rows": ROWS, "v": V, "D": _(5, 4)}, "I; I; I M"),
    Row("y[i] := x[$n]*v[i] + x[i+$n]", {"x": X, "v": V, "n": 3}),
    Row("y[i] := x[i], i in range($n)", {"x": X, "n": 3}),
]
CORPUS = [*CONTRACTIONS, *ELEMENTWISE, *DIAGONALS, *SHIFTS, *WINDOWS, *INDICES]
"""All of them, as `tools/portability` writes them to files."""


def is_stored(row: Row) -> bool:
    """Whether it writes to an array that is given, or at an index that is no loop alone."""
    target = row.text.partition("=")[0]
    return ":" not in target or "i,i" in target


def has_one_axis(row: Row) -> bool:
    """Whether its window is of a vector: without channels."""
    return all(getattr(array, "ndim", 0) <= 2 for array in row.arrays.values()) and "c," not in row.text
