"""Conventions of the rules of picking and putting: ties, zeros, repeated places, and the form of their pullbacks."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing import check_grads
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

PLACES = np.array([[0], [0], [2]])


def scattered(reduction: str) -> Any:
    return lambda x, u: op.ScatterND(x, PLACES, u, reduction=reduction)


def gradients(reduction: str, x: Any, u: Any) -> list[list[float]]:
    made = ps.grad(lambda x, u: scattered(reduction)(x, u).sum(), wrt=(0, 1))
    return [g.tolist() for g in made(np.array(x, float), np.array(u, float))]


def test_a_maximum_that_ties_is_shared_evenly_with_the_old_value() -> None:
    assert gradients("max", [1, 5, 0], [1, 1, 2]) == [[1 / 3, 1, 0], [1 / 3, 1 / 3, 1]]


def test_a_minimum_that_ties_is_shared_evenly() -> None:
    assert gradients("min", [9, 5, 7], [1, 1, 8]) == [[0, 1, 1], [0.5, 0.5, 0]]


@pytest.mark.parametrize(
    ("updates", "expected"),
    [
        ([2, 3, 4], [[6, 1, 4], [15, 10, 7]]),
        ([0, 3, 4], [[0, 1, 4], [15, 0, 7]]),
        ([0, 0, 4], [[0, 1, 4], [0, 0, 7]]),
        ([2, 3, 0], [[6, 1, 0], [15, 10, 7]]),
    ],
)
def test_a_product_has_the_right_gradient_at_zeros(updates: list[float], expected: list[list[float]]) -> None:
    assert gradients("mul", [5, 6, 7], updates) == expected


@pytest.mark.parametrize("updates", [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 0.0, 4.0]])
def test_a_product_has_the_right_second_derivative_at_zeros(updates: list[float]) -> None:
    x, w = np.array([5.0, 6.0, 7.0]), np.array([1.0, 2.0, 3.0])

    def slope(u: Any) -> Any:
        return (ps.grad(lambda u: (scattered("mul")(np.asarray(x, like=u), u) * x).sum())(u) * w).sum()

    found = ps.grad(slope)(np.array(updates))
    np.testing.assert_allclose(found, [25.0 * w[1], 25.0 * w[0], 0.0])


def test_a_gather_captures_the_indices_and_no_value() -> None:
    made = ps.split(lambda x, i: x[i], ps.spec("float64", ["N", 3]), ps.spec("int64", ["K"])).split
    assert {made.kind(c) for c in made.captures} == {"input", "shape"}
    assert [o.kind for o in made.pullback.ops if o.kind == "ScatterND"] == ["ScatterND"]
    assert all(c.type.dtype == np.int64 for c in made.captures)


def test_gather_and_scatter_are_each_others_transposes() -> None:
    random = np.random.default_rng(0)
    places = np.array([3, 0, 3, -1])

    def f(x: Any, u: Any) -> Any:
        y = np.zeros_like(x)
        np.add.at(y, places, u)
        return y[places] * x[places]

    check_grads(f, random.standard_normal((5, 2)), random.standard_normal((4, 2)), resize=())


def test_every_writer_of_a_place_in_a_scatter_gets_its_gradient() -> None:
    """The standard allows no such indices; PyTorch's scatter answers so."""
    x, places = np.array([1.0, 0.0]), np.array([0, 0])
    for scatter in (op.ScatterElements, lambda x, i, u: op.ScatterND(x, i[:, None], u)):
        found = ps.grad(lambda u, put=scatter: put(x, places, u).sum())(np.array([1.0, 1.0]))
        np.testing.assert_array_equal(found, [1.0, 1.0])


def test_a_write_of_repeated_traced_indices_sends_the_gradient_to_the_last() -> None:
    def f(u: Any, i: Any) -> Any:
        y = np.zeros_like(u)
        y[i] = u
        return (y * np.array([1.0, 10.0, 100.0])).sum()

    u, places = np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1])
    np.testing.assert_array_equal(ps.grad(f)(u, places), [0, 1, 10])


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max"])
def test_a_scatter_whose_places_are_counted_by_another_name_has_its_gradient(reduction: str) -> None:
    """The standard says that places and updates are as many; what the program says of both need not be the same."""
    shapes = ps.spec("float64", ["N", 1]), ps.spec("int64", ["M", 1]), ps.spec("float64", [3, 1])
    made = ps.split(lambda x, i, u: op.ScatterElements(x, i, u, axis=0, reduction=reduction), *shapes)
    x, places, seed = np.array([[5.0], [6.0], [7.0]]), np.array([[0], [2], [1]]), np.array([[1.0], [2.0], [3.0]])
    _, dx, du = made.joint()(x, places, np.ones_like(x), seed)
    moves = {"none": (0 * seed, seed), "add": (seed, seed), "mul": (seed, seed * x), "max": (seed, 0 * seed)}
    np.testing.assert_allclose(dx, moves[reduction][0])
    np.testing.assert_allclose(du, moves[reduction][1][places[:, 0]])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("sizes", ["numbers", "symbols"])
def test_what_a_condition_says_behind_the_last_place_picks_nothing(axis: int | None, sizes: str) -> None:
    """So onnxruntime takes it."""
    x, condition = np.arange(6.0).reshape(3, 2), np.array([True, False, True, True, False, False, True, True])
    shapes = [x.shape, condition.shape] if sizes == "numbers" else [["N", "K"], ["C"]]
    specs = ps.spec("float64", shapes[0]), ps.spec("bool", shapes[1])
    made = ps.split(lambda x, c: op.Compress(x, c, axis=axis), *specs, wrt="x", seed="ones").joint()
    wanted = np.zeros_like(x)
    places = {None: np.unravel_index([0, 2, 3], x.shape), 0: [0, 2], 1: (slice(None), [0])}[axis]
    wanted[places] = 1.0
    np.testing.assert_array_equal(made(x, condition)[-1], wanted)


@pytest.mark.parametrize("row", rows_of("indexing"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
