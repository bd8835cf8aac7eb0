"""The operators of nests: products are MatMul and windows Conv, nothing large is stored, numbers keep their dtype."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.loops.derivation import derive
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.lowering import lower
from primsplit.frontends.loops.nest import Nest
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.sizes import check, sizes_of
from primsplit.ir import walk
from primsplit.ir.dims import product
from primsplit.ir.errors import IndexingError, ShapeError
from primsplit.tracing.array import Array
from tests.frontends.loops.running import drawn


def _specs(nest: Nest, shapes: str, dtype: Any = np.float32) -> list[Any]:
    """A spec for each argument; those whose name is that of an index array hold whole numbers."""
    found = []
    for name, part in zip(nest.names, shapes.split(";"), strict=True):
        sizes = [int(size) if size.isdigit() else size for size in part.split()]
        found.append(ps.spec(np.int64 if name == "rows" else dtype, sizes))
    return found


def _forward(text: str, shapes: str, dtype: Any = np.float32) -> Any:
    """The block that a nest is."""
    nest = ps.loops(text)
    (call,) = ps.trace(nest, *_specs(nest, shapes, dtype)).block.ops
    return call.attributes["body"]


def _split(text: str, shapes: str) -> Any:
    nest = ps.loops(text)
    return ps.split(nest, *_specs(nest, shapes), wrt=[name for name in nest.names if name != "rows"])


FORWARD = [
    ("C[m,n] := A[m,k]*B[k,n]", "M K; K N", "MatMul"),
    ("C[m,n] += A[m,k]*B[k,n]", "M K; K N; M N", "MatMul Add"),
    ("C[b,m,n] := A[b,m,k]*B[b,k,n]", "B M K; B K N", "MatMul"),
    ("C[m,n] := A[m,k]*B[n,k]", "M K; N K", "Transpose MatMul"),
    ("C[m,n] := A[m,k]*exp(B[k,n])", "M K; K N", "Exp MatMul"),
    ("C[m,n] := A[m,k]*B[k,n] if m <= k else 0", "5 5; 5 5", "Unsqueeze LessOrEqual call::chosen_sum"),
    ("y[m] := A[m,k]*v[k]", "M K; K", "Unsqueeze MatMul Squeeze"),
    ("y[m] := A[m,k]*B[m,k]", "M K; M K", "Mul ReduceSum"),
    ("y[i,j] := x[j,i]", "M N", "Transpose"),
    ("y[i] := x[i+1] - x[i]", "N", "Slice Slice Sub"),
    ("y[i] := x[i-1] + x[i+1]", "16", "Slice Slice Add Pad"),
    ("y[i] := x[2*i]", "16", "Slice"),
    ("y[i] := x[mod(i+1)]", "16", "Gather"),
    ("y[i] := A[rows[i],j]*2", "5 6; 5", "Gather ReduceSum Mul"),
    ("y[i] := A[rows[i],i]", "5 5; 5", "Unsqueeze Unsqueeze Concat GatherND"),
    ("y[b,o,i] := x[b,c,i+p]*k[o,c,p]", "2 3 9; 4 3 2", "Conv"),
    ("y[b,o,i,j] := x[b,c,2*i+p,j+3*q]*k[o,c,p,q]", "2 3 9 9; 4 3 2 2", "Conv"),
]


@pytest.mark.parametrize(("text", "shapes", "kinds"), FORWARD, ids=[row[0] for row in FORWARD])
def test_a_nest_is_these_operators(text: str, shapes: str, kinds: str) -> None:
    assert [op.kind for op in _forward(text, shapes).ops] == kinds.split()


REVERSE = [
    ("C[m,n] := A[m,k]*B[k,n]", "M K; K N", {"MatMul": 2, "Transpose": 2, "Mul": 0}),
    ("C[m,n] := A[m,k]*B[k,n] if m <= k else 0", "M K; K N", {"MatMul": 2}),
    ("C[m,n] := A[m,k]*B[k,n]/z[m]", "M K; K N; M", {"MatMul": 3}),
    ("y[b,o,i] := x[b,c,i+p]*k[o,c,p]", "2 3 9; 4 3 2", {"Conv": 1, "ConvTranspose": 1}),
    ("y[i] := x[i+a]*k[a]", "9; 3", {"Conv": 0, "ConvTranspose": 1, "MatMul": 1}),
    ("y[i] := A[rows[i],j]", "M J; I", {"ScatterND": 1}),
    ("y[i] := x[i+1] - x[i]", "N", {"Pad": 2, "ScatterND": 0}),
]


@pytest.mark.parametrize(("text", "shapes", "counts"), REVERSE, ids=[row[0] for row in REVERSE])
def test_its_derivative_has_so_many_of_these_operators(text: str, shapes: str, counts: dict[str, int]) -> None:
    found = Counter(op.kind for op in walk(_split(text, shapes).pullback))
    assert {kind: found[kind] for kind in counts} == counts


LEAN = [
    ("C[m,n] := A[m,k]*B[k,n]*w[k]", "300 300; 300 300; 300"),
    ("C[m,n] := -A[m,k]*B[k,n]/w[m] + C0[m,n]/300", "300 300; 300 300; 300; 300 300"),
    ("C[m,n] := A[m,k]*B[k,n]*(m <= k) + A[m,k]", "300 300; 300 300"),
    ("C[m,n] := 0.0 if m <= k else A[m,k]*B[k,n]", "300 300; 300 300"),
    ("y[i] := x[i+a]*k[a]", "20000; 900"),
    ("y[i+a] += x[i]*k[a]", "19101; 900; 20000"),
]


@pytest.mark.parametrize(("text", "shapes"), LEAN, ids=[row[0] for row in LEAN])
def test_neither_pass_makes_an_array_much_larger_than_arguments_and_results(text: str, shapes: str) -> None:
    made = _split(text, shapes)
    blocks = [made.primal, made.pullback]
    sizes = [product(v.type.shape or ()) for block in blocks for op in walk(block) for v in op.outputs]
    largest = max(product(param.type.shape or ()) for param in made.primal.params)
    assert max(int(size) for size in sizes) <= 2 * int(largest)


def test_sizes_that_may_be_zero_guard_a_convolution_and_known_ones_do_not() -> None:
    text = "y[i] := x[i+a]*k[a]"
    assert "If" in [op.kind for op in _forward(text, "N; K").ops]
    assert "If" not in [op.kind for op in _forward(text, "9; 3").ops]
    with np.errstate(all="ignore"):
        assert ps.loops(text)(np.ones(9, np.float32), np.ones(0, np.float32)).tolist() == [0.0] * 10


def test_a_maximum_over_nothing_is_minus_infinity_and_a_product_one() -> None:
    nothing = np.zeros((2, 0), np.float32)
    assert ps.loops("(max) y[i] := x[i,j]")(nothing).tolist() == [-np.inf, -np.inf]
    assert ps.loops("(*) y[i] := x[i,j]")(nothing).tolist() == [1.0, 1.0]


DTYPES = [
    ("y[i] := x[i]*i/2 + 0.5", {"x": np.float32}, np.float32),
    ("y[i] := x[i]*w[i]", {"x": np.float32, "w": np.float64}, np.float64),
    ("y[i] := x[i]*n[i]", {"x": np.float32, "n": np.int32}, np.float64),
    ("y[i] := (x[i] > 0)*x[i]", {"x": np.float32}, np.float32),
    ("t := n[i]*n[i]", {"n": np.int32}, np.int32),
    ("y[i] := n[i]/2", {"n": np.int64}, np.float64),
    ("y[i] += x[i]", {"x": np.float64, "y": np.float32}, np.float32),
]


@pytest.mark.parametrize(("text", "given", "expected"), DTYPES, ids=[row[0] for row in DTYPES])
def test_dtypes_are_those_of_the_interpreter(text: str, given: dict[str, Any], expected: Any) -> None:
    nest = ps.loops(text)
    arrays = {name: np.arange(1, 4).astype(dtype) for name, dtype in given.items()}
    found = nest(**arrays)
    assert found.dtype == expected == next(iter(interpret(nest.loopset, arrays).values())).dtype


def test_arrays_of_integers_have_no_gradient_and_those_beside_them_do() -> None:
    nest = ps.loops("t := x[i]*n[i]")
    made = ps.split(nest, np.ones(3), np.arange(3))
    assert made.differentiated == ["x"] or [str(name) for name in made.gradient_names] == ["d_x"]


def test_a_reverse_nest_adds_to_a_given_array_or_makes_its_own() -> None:
    nest = parse_notation("C[m,n] := A[m,k]*B[k,n]")
    arrays = {"A": drawn(0, 3, 4), "B": drawn(1, 4, 2)}
    given = {"d_C": drawn(2, 3, 2), "d_A": drawn(3, 3, 4), **arrays}
    sizes = check(nest, {name: array.shape for name, array in arrays.items()})

    def run(into: tuple[str, ...]) -> Any:
        reverse = derive(nest, {"A"}, into=into).reverse
        names = [name for name, _ in reverse.arguments]

        def lowered(*handles: Array) -> Array:
            known = dict(zip(names, handles, strict=True))
            shapes = {**sizes.shapes, **{name: array.shape for name, array in known.items()}}
            return lower(reverse, known, sizes_of(reverse, shapes))["d_A"]

        return ps.trace(lowered, *(given[name] for name in names))

    fresh, added = run(()), run(("A",))
    expected = given["d_C"] @ given["B"].T
    np.testing.assert_allclose(fresh(given["d_C"], given["B"]), expected, rtol=1e-13)
    values = {name: given[name] for name in ("d_C", "d_A", "B")}
    order = [name for name, _ in derive(nest, {"A"}, into=("A",)).reverse.arguments]
    np.testing.assert_allclose(added(*(values[name] for name in order)), expected + given["d_A"], rtol=1e-13)
    assert [op.kind for op in fresh.block.ops].count("Add") == 0


def test_a_root_at_0_has_the_second_derivatives_of_what_is_composed_around_it() -> None:
    """The square of a norm is smooth; cos is even, so cos of a norm is smooth too."""
    norms = ps.loops("y[i] := A[i,j] * A[i,j] |> sqrt")
    rows = np.zeros((1, 2))
    np.testing.assert_array_equal(ps.grad(lambda A: np.sum(norms(A) ** 2))(rows), rows)
    square = ps.hessian(lambda A: np.sum(norms(A) ** 2))(rows)
    np.testing.assert_array_equal(square.reshape(2, 2), 2.0 * np.eye(2))


def test_sizes_that_do_not_agree_are_refused_with_both_their_sources() -> None:
    nest = ps.loops("C[m,n] := A[m,k]*B[k,n]")
    with pytest.raises(ShapeError, match=r"k is 4 by A's axis 1 and 5 by B's axis 0"):
        nest(np.ones((3, 4)), np.ones((5, 2)))
    with pytest.raises(ShapeError, match="may differ at run time"):
        ps.trace(nest, *_specs(nest, "M K; L N"))
    with pytest.raises(IndexingError, match="x's axis 0, of length 5"):
        ps.loops("y[i] := x[i+1], i in range(5)")(np.ones(5))
