"""Elements that a mask leaves out of a sum have no effect, even if infinite or NaN: in values and gradients."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.loops.interpreter import interpret
from primsplit.ir import walk
from primsplit.testing import check_grads
from tests.frontends.loops.running import drawn


def attended(P, V):
    y = np.zeros((P.shape[0], V.shape[1]))
    for i in range(P.shape[0]):
        for j in range(V.shape[0]):
            for d in range(V.shape[1]):
                if j <= i:
                    y[i, d] += P[i, j] * V[j, d]
    return y


P, V, W, X, K = drawn(0, 4, 5), drawn(1, 5, 3), drawn(2, 5), drawn(3, 6), drawn(4, 3)

# Arrays by name, and the places of them that no turn which is chosen reads.
ROWS: list[tuple[Any, dict[str, Any], dict[str, Any]]] = [
    (attended, {"P": P, "V": V}, {"P": (0, 3), "V": (4, 1)}),
    ("C[m,n] := P[m,k]*V[k,n] if k <= m else 0", {"P": P, "V": V}, {"P": (1, 4), "V": (4, slice(None))}),
    ("C[m,n] := 0 if k > 2 else -P[m,k]*V[k,n]", {"P": P, "V": V}, {"P": (2, 3), "V": (3, 0)}),
    ("C[m,n] := P[m,k]*V[k,n] if m <= n else 0", {"P": P, "V": V}, {"P": (3, 1)}),
    ("C[m,n] := P[m,k]*V[k,n]/w[k] if k < 4 else 0", {"P": P, "V": V, "w": W}, {"w": 4, "V": (4, 2)}),
    ("C[m] := P[m,k]*V[k,n] if k + n < 5 else 0", {"P": P, "V": V}, {"V": (4, 1)}),
    ("t := P[m,k]*V[k,n] if k < m else 0", {"P": P, "V": V}, {"P": (0, 0), "V": (3, 1)}),
    ("t := (P[m,k]*V[k,n] if n > 0 else 0) if k < m else 0", {"P": P, "V": V}, {"P": (0, 0), "V": (1, 0)}),
    ("C[m,n] := (P[m,k]*V[k,n] if k < 3 else 0)*w[k]", {"P": P, "V": V, "w": W}, {"V": (4, 2)}),
    ("y[i] := w[j] if j < i else 0, i in range(4)", {"w": W}, {"w": 4}),
    ("y[i] := x[i+a]*k[a] if a < 2 else 0", {"x": X, "k": K}, {"x": 5, "k": 2}),
    ("y[i+a] += x[i]*k[a] if a < 2 else 0", {"x": X, "k": K, "y": drawn(5, 8)}, {"k": 2}),
    ("y[k,l] := x[k+l]*w[i]/3*P[k,l] if k < i else 0, l in range(3)", {"x": X, "w": W, "P": P}, {"w": 0}),
    ("y[i] := 1/x[i] if i > 1 else 0.5*x[i]", {"x": X}, {}),
]
NAMES = [row[0] if isinstance(row[0], str) else row[0].__name__ for row in ROWS]


def _spoilt(arrays: dict[str, Any], places: dict[str, Any], number: float) -> dict[str, Any]:
    found = {name: np.array(array) for name, array in arrays.items()}
    for name, place in places.items():
        found[name][place] = number
    return found


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(("nest", "arrays", "places"), ROWS, ids=NAMES)
def test_what_is_left_out_changes_no_value_and_no_gradient(
    nest: Any, arrays: dict[str, Any], places: dict[str, Any], number: float
) -> None:
    loops = ps.loops(nest)
    for name, place in places.items():
        joint = ps.split(loops, *arrays.values(), wrt=list(loops.names)).joint()
        seed = np.cos(np.arange(np.size(joint(*arrays.values(), *_seed(joint))[0])))
        usual = joint(*arrays.values(), *_seed(joint, seed))
        found = joint(*_spoilt(arrays, {name: place}, number).values(), *_seed(joint, seed))
        for a, b in zip(found, usual, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def _seed(joint: Any, numbers: Any = None) -> list[Any]:
    """The cotangent, where the program takes one."""
    taken = [t for name, t in zip(joint.inputs, joint.types, strict=False) if name.startswith("d_")]
    return [np.resize(0.0 if numbers is None else numbers, t.shape) for t in taken]


@pytest.mark.parametrize(("nest", "arrays", "places"), ROWS, ids=NAMES)
def test_its_gradients_are_right_to_second_order(nest: Any, arrays: dict[str, Any], places: dict[str, Any]) -> None:
    check_grads(ps.loops(nest), *arrays.values(), symbolic=False)


@pytest.mark.parametrize(("nest", "arrays", "places"), ROWS, ids=NAMES)
def test_its_forward_mode_and_batches_are_those_of_differences(
    nest: Any, arrays: dict[str, Any], places: dict[str, Any]
) -> None:
    loops, step = ps.loops(nest), 1e-6
    given = [arrays[name] for name in loops.names]
    along = [np.cos(np.arange(array.size)).reshape(array.shape) for array in given]
    ahead, behind = ([a + sign * step * t for a, t in zip(given, along, strict=True)] for sign in (1, -1))
    slope = (loops(*ahead) - loops(*behind)) / (2 * step)
    np.testing.assert_allclose(ps.jvp(loops, given, along)[1], slope, rtol=1e-6, atol=1e-8)
    pairs = [np.stack(pair) for pair in zip(given, ahead, strict=True)]
    np.testing.assert_allclose(ps.vmap(loops)(*pairs), [loops(*given), loops(*ahead)], rtol=1e-12)


def test_the_sizes_of_a_masked_sum_may_be_known_only_to_the_run() -> None:
    joint = ps.split(ps.loops(attended), ps.spec("float64", ["M", "K"]), ps.spec("float64", ["K", "N"])).joint()
    for m, k, n in [(0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (5, 4, 3)]:
        weights, values, seed = drawn(m, m, k), drawn(k, k, n), drawn(n, m, n)
        y, d_weights, d_values = joint(weights, values, seed)
        lower = np.tril(np.ones((m, k)))
        np.testing.assert_allclose(y, (lower * weights) @ values, atol=1e-13)
        np.testing.assert_allclose(d_weights, lower * (seed @ values.T), atol=1e-13)
        np.testing.assert_allclose(d_values, (lower * weights).T @ seed, atol=1e-13)


READ = [
    ("C[m,n] := P[m,k]*V[k,n] if k < 4 else 0", {"P": P, "V": V}, {"P": (0, 1), "V": (2, 2)}),
    ("C[m,n] := (P[m,k]*V[k,n] if k < 3 else 0)*w[k]", {"P": P, "V": V, "w": W}, {"w": 4}),
    ("y[i] := x[i+a]*k[a] if a < 2 else 0", {"x": X, "k": K}, {"x": 3}),
]


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(("text", "arrays", "places"), READ, ids=[row[0] for row in READ])
def test_what_is_read_counts_as_in_python(
    text: str, arrays: dict[str, Any], places: dict[str, Any], number: float
) -> None:
    nest, spoilt = ps.loops(text), _spoilt(arrays, places, number)
    with np.errstate(invalid="ignore"):
        (wanted,) = interpret(nest.loopset, spoilt).values()
    assert not np.isfinite(wanted).all()
    np.testing.assert_allclose(nest(**spoilt), wanted, rtol=1e-12)


def test_numbers_so_large_that_their_sum_is_infinite_are_summed_all_the_same() -> None:
    arrays = {"P": np.eye(4, 5), "V": np.full((5, 3), 1e308)}
    np.testing.assert_array_equal(attended(**arrays), ps.loops(attended)(**arrays))


def test_a_mask_that_needs_no_look_at_the_numbers_has_none() -> None:
    for text, shapes in [
        ("C[m,n] := P[m,k]*V[k,n] if m <= n else 0", ["M K", "K N"]),
        ("y[i] := w[j] if j < i else 0, i in range(4)", ["5"]),
        ("y[m] := P[m,k]*w[k] if w[k] > 0 else 0", ["K", "M K"]),
    ]:
        specs = [ps.spec("float64", [int(s) if s.isdigit() else s for s in shape.split()]) for shape in shapes]
        kinds = {op.kind for op in walk(ps.trace(ps.loops(text), *specs).block)}
        assert "If" not in kinds
