"""Derived nests have the gradients of differences, the numbers of the literature, and no line too many."""

from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.derivation import Derivation, derive
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.sizes import check, sizes_of
from primsplit.ir.errors import SpecError
from tests.frontends.loops.running import assert_gradients_meet_differences, differences, drawn, pulled_back

A, B, C = drawn(0, 3, 4), drawn(1, 4, 2), drawn(2, 3, 2)
X, W, K = drawn(3, 5), drawn(4, 5), drawn(5, 3)
ROWS = np.array([2, 0, 1, 2, 2])

NESTS: list[tuple[str, dict[str, Any]]] = [
    ("y[m,n] := A[m,k]*B[k,n]", {"A": A, "B": B}),
    ("y[m,n] += A[m,k]*B[k,n]", {"y": C, "A": A, "B": B}),
    ("y[m,n] -= A[m,k]*B[k,n]", {"y": C, "A": A, "B": B}),
    ("y[m,n] = A[m,k]*B[k,n]", {"y": C, "A": A, "B": B}),
    ("y[i] := A[i,j] + b[j]", {"A": A, "b": drawn(6, 4)}),
    ("y := A[i,j] + 2.0*t", {"A": A, "t": np.array(1.5)}),
    ("t += log1p(0.25*(C[i]-18)**2)", {"t": np.array(1.0), "C": 18 + X}),
    ("(max) y[i] := A[i,j]", {"A": A}),
    ("(min) y := A[i,j]", {"A": A}),
    ("y[i] max= A[i,j]", {"y": drawn(7, 3), "A": A}),
    ("y[i] min= A[i,j]", {"y": drawn(8, 3), "A": A}),
    ("y[i] *= A[i,j]", {"y": drawn(9, 3), "A": A}),
    ("y[i] := A[i,j]**2 |> sqrt", {"A": A}),
    ("y[i] := A[i,j]*x[j] |> tanh", {"A": A, "x": X[:4]}),
    ("y[i] := exp(A[i,j]) |> log", {"A": A}),
    ("y[i] := A[i,j] |> relu", {"A": A}),
    ("(max) m := x[i]; z := exp(x[i]-m); y := m + log(z)", {"x": X}),
    ("m := x[i]/len(x); v := (x[i]-m)**2/len(x); y[i] := (x[i]-m)/sqrt(v+1e-5)*w[i]", {"x": X, "w": W}),
    ("y[i] := x[i+a]*k[a]", {"x": X, "k": K}),
    ("y[i] := x[2*i+a-1]*k[a]", {"x": X, "k": K}),
    ("y[i+j] += x[i]*k[j]", {"y": drawn(10, 7), "x": X, "k": K}),
    ("y[i] := x[mod(i+1)]*x[clamp(i-1)] + x[pad(i-2, 3.0)]**2", {"x": X}),
    ("y[i] := x[$n-i]**2", {"x": X, "n": 4}),
    ("y[i,j] := A[rows[i], j]**2", {"A": A, "rows": ROWS}),
    ("y[rows[i]] += x[i]*w[rows[i]]", {"y": drawn(11, 3), "x": X, "w": K, "rows": ROWS}),
    ("T[k] := 22*x[i,i,k]", {"x": drawn(12, 3, 3, 2)}),
    ("D[i,i] = sqrt(x[i])", {"D": drawn(13, 5, 5), "x": X**2 + 1}),
    ("y[i] := x[j]*(j <= i), i in range(3)", {"x": X}),
    ("y[i] := x[i]*i if x[i] > 0 else 0.1*x[i]", {"x": X}),
    ("y[i] = 2*y[i] + x[i]; y[i] *= y[i]; z[i] := y[i]*x[i]", {"y": W, "x": X}),
    ("y[i] := x[i]*w[i]; y[i+1] += x[i]; z := y[i]**2", {"x": X, "w": W}),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("threshold", [4.5, 0.0, np.inf], ids=["by cost", "all kept", "all again"])
@pytest.mark.parametrize(("text", "arrays"), NESTS, ids=[row[0] for row in NESTS])
def test_the_reverse_nest_meets_differences(text: str, arrays: dict[str, Any], threshold: float) -> None:
    assert_gradients_meet_differences(parse_notation(text), arrays, threshold=threshold)


def test_amulb_has_the_products_of_its_cotangent() -> None:
    size = 72
    a, b, cotangent = drawn(20, size, size), drawn(21, size, size), drawn(22, size, size)
    found = pulled_back(parse_notation("C[m,n] := A[m,k]*B[k,n]"), {"A": a, "B": b}, {"C": cotangent}, ["A", "B"])
    np.testing.assert_allclose(found["A"], cotangent @ b.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["B"], a.T @ cotangent, rtol=1e-12, atol=1e-12)


def test_an_array_that_is_not_tracked_has_no_line() -> None:
    reverse = derive(parse_notation("C[m,n] := A[m,k]*B[k,n]"), ["A"]).reverse
    assert [line.kind for line in reverse.operations] == ["load", "load", "compute", "reduce", "store"]
    assert [name for name, _ in reverse.results] == ["d_A"]
    assert [name for name, _ in reverse.arguments] == ["d_C", "B"]


def test_the_chained_loss_has_the_numbers_of_the_thread_and_the_product_with_its_hessian() -> None:
    i, j = np.meshgrid(range(72), range(72), indexing="ij")
    arrays = {"A": ((7 * i + 3 * j) % 11) / 11, "B": ((5 * i + 2 * j) % 13) / 13}
    nest = parse_notation("C[m,n] := A[m,k]*B[k,n]; s := log1p(0.25*(C[i,j]-18)**2); t := -2.5*s")
    results = interpret(nest, arrays)
    assert results["C"][0, 0] == pytest.approx(15.069930069930072, rel=1e-14)
    assert results["t"] == pytest.approx(-14587.445439986341, rel=1e-13)
    nothing = {name: np.zeros_like(results[name]) for name in ("C", "s")}
    found = pulled_back(nest, arrays, {**nothing, "t": 1.0}, ["A", "B"])
    corners = [found["A"][0, 0], found["A"][-1, -1], found["B"][0, 0], found["B"][-1, -1]]
    np.testing.assert_allclose(
        corners, [37.271790788025, 37.892630675070, 37.767531877650, 38.414157359456], rtol=1e-12
    )
    np.testing.assert_allclose([g.sum() for g in found.values()], [200586.7594933912, 197468.3508256589], rtol=1e-12)
    reverse = derive(nest, ["A"], wanted=["t"])
    known = {**arrays, "d_t": np.ones(()), "C": results["C"]}
    read = {name: known[name] for name, _ in reverse.reverse.arguments}
    bent = {name: np.zeros_like(array) for name, array in results.items()}
    bent["C"] = second_order(reverse, arrays, read, {"d_A": np.ones((72, 72))})["C"]
    product = pulled_back(nest, arrays, bent, ["A"])["A"]
    assert product.sum() == pytest.approx(744396.5310387588, rel=1e-12)
    assert product[0, 0] == pytest.approx(165.39004791542794, rel=1e-12)


def second_order(
    derivation: Derivation, arrays: dict[str, Any], read: dict[str, Any], cotangents: dict[str, Any]
) -> dict[str, Any]:
    """The gradients of a reverse nest's results times cotangents, with respect to what it reads."""
    sizes = sizes_of(derivation.forward, {name: array.shape for name, array in arrays.items()})
    second = derive(derivation.reverse, list(read))
    kept = interpret(second.forward, read, sizes=sizes)
    known = {**read, **{version: kept[name] for name, version in second.forward.results}}
    known |= {cotangent: cotangents[name] for name, cotangent in second.cotangents}
    shapes = {**sizes.shapes, **{name: array.shape for name, array in read.items()}}
    arguments = {name: known[name] for name, _ in second.reverse.arguments}
    found = interpret(second.reverse, arguments, sizes=sizes_of(second.forward, shapes))
    return {name: found[gradient] for name, gradient in second.gradients}


@pytest.mark.parametrize(
    "text",
    [
        "y[i] := w[i,j]*x[j] |> tanh; t := y[i]**2*exp(0.1*x[i])",
        "x[i] = x[i]**2 + w[i,i]; t := x[i]**3*w[i,j]*x[j]",
        "w[i,j] += x[i]*x[j]; w[i,j] *= w[i,j]; x[i] += w[i,j]**2; t := x[i]**2*w[i,i]",
    ],
)
def test_the_derivative_of_a_reverse_nest_meets_differences_of_it(text: str) -> None:
    nest = parse_notation(text)
    arrays = {"w": drawn(30, 3, 3), "x": drawn(31, 3)}
    first = derive(nest, ["x", "w"], wanted=["t"])
    sizes = check(nest, {name: array.shape for name, array in arrays.items()})
    forward = interpret(first.forward, arrays)
    known = {**arrays, "d_t": np.array(1.3), **{version: forward[name] for name, version in first.forward.results}}
    read = {name: known[name] for name, _ in first.reverse.arguments}
    weights = {"d_x": drawn(32, 3), "d_w": drawn(33, 3, 3)}
    found = second_order(first, arrays, read, weights)

    def value(changed: dict[str, Any]) -> float:
        results = interpret(first.reverse, changed, sizes=sizes)
        return sum(float(np.sum(results[name] * weight)) for name, weight in weights.items())

    assert "d_t" in found
    for name, gradient in found.items():
        expected = np.zeros_like(gradient)
        for place in np.ndindex(expected.shape):
            move = np.zeros_like(expected)
            move[place] = 1e-6
            ends = value({**read, name: read[name] + move}), value({**read, name: read[name] - move})
            expected[place] = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7, err_msg=name)


def test_a_repeated_index_of_an_array_adds_up() -> None:
    rows = np.array([0, 1, 2, 0, 1])
    found = pulled_back(parse_notation("y[i] := x[rows[i]]"), {"x": K, "rows": rows}, {"y": np.ones(5)}, ["x"])
    np.testing.assert_array_equal(found["x"], [2, 2, 1])


def test_a_cotangent_is_added_to_an_array_that_is_given() -> None:
    nest = parse_notation("C[m,n] := A[m,k]*B[k,n]")
    cotangent, before = drawn(40, 3, 2), drawn(41, 3, 4)
    derivation = derive(nest, ["A", "B"], into=["A"])
    found = pulled_back(nest, {"A": A, "B": B}, {"C": cotangent}, ["A", "B"], derivation, d_A=before)
    np.testing.assert_allclose(found["A"], before + cotangent @ B.T)
    np.testing.assert_allclose(found["B"], A.T @ cotangent)


def test_the_first_cotangent_of_an_array_is_written_not_added_to_zeros() -> None:
    nest = parse_notation("C[m,n] := A[m,k]*B[k,n]")
    stores = {
        into: [s.adds for s in derive(nest, ["A"], into=into).reverse.operations if s.kind == "store"]
        for into in ((), ("A",))
    }
    assert stores == {(): [False], ("A",): [True]}


def test_an_array_that_no_result_depends_on_has_no_gradient() -> None:
    derivation = derive(parse_notation("y[i] := (x[i] > 0) + w[i]"), ["x", "w"])
    assert [name for name, _ in derivation.gradients] == ["w"]


def test_an_expression_that_occurs_twice_is_computed_once() -> None:
    nest = parse_notation("y[i] := exp(x[i]) + exp(x[i])*x[i]")
    assert [line.function for line in nest.operations if line.kind == "compute"] == ["exp", "multiply", "add"]


@pytest.mark.parametrize("text", ["y := x[i]*w[i]", "(max) y := x[i]*w[i]", "(*) y := x[i]", "y[i] := exp(x[i])"])
def test_the_gradient_of_an_empty_loop_is_empty(text: str) -> None:
    nest = parse_notation(text)
    arrays = {name: np.zeros(0) for name, _ in nest.arguments}
    shape = interpret(nest, arrays)["y"].shape
    found = pulled_back(nest, arrays, {"y": np.ones(shape)}, list(arrays))
    assert all(gradient.shape == (0,) for gradient in found.values())


def test_a_sum_over_nothing_has_gradients_of_zero() -> None:
    arrays = {"A": np.zeros((0, 2)), "b": np.ones(2)}
    found = pulled_back(parse_notation("y[j] := A[i,j]*b[j]"), arrays, {"y": np.ones(2)}, ["A", "b"])
    np.testing.assert_array_equal(found["b"], [0.0, 0.0])


def test_an_argument_that_the_nest_does_not_have_is_refused() -> None:
    with pytest.raises(SpecError, match=r"the nest has no argument xs\n  Did you mean x\?"):
        derive(parse_notation("y[i] := x[i]"), ["xs"])


def test_a_cotangent_that_is_given_anyway_is_not_added_to() -> None:
    with pytest.raises(SpecError, match="what the nest writes has its cotangent given already: y"):
        derive(parse_notation("y[i] += x[i]"), ["x", "y"], into=["y"])


def test_names_of_cotangents_keep_clear_of_the_users() -> None:
    nest = parse_notation("y[i] := x[i]*d_x[i]")
    arrays = {"x": X, "d_x": W}
    found = pulled_back(nest, arrays, {"y": np.ones(5)}, ["x", "d_x"])
    np.testing.assert_allclose(found["x"], differences(nest, arrays, {"y": np.ones(5)}, "x"), rtol=1e-6)
    np.testing.assert_allclose(found["d_x"], X)
