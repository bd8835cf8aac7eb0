"""The form of the pullbacks of operators that move elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

FORMS: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "a slice pads": (lambda x: x[1:3], ["Pad"]),
    "a reversal reverses": (lambda x: x[::-1], ["Slice"]),
    "a step scatters along the axis": (lambda x: x[::2], ["Expand", "ScatterND"]),
    "a transposition transposes": (lambda x: x.T, ["Transpose"]),
    "a reshape reshapes": (lambda x: x.reshape(-1), ["Reshape"]),
    "a concatenation splits": (lambda x: np.concatenate([x, np.ones((1, 3), like=x)]), ["Split"]),
    "an int scatters": (lambda x: x[1], ["Expand", "ScatterND"]),
    "a triangle keeps the triangle": (np.triu, ["Trilu"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_pullback_is_as_short_as_it_can_be(name: str) -> None:
    function, expected = FORMS[name]
    found = ps.split(function, ps.spec("float64", [4, 3])).split.pullback.ops
    assert [o.kind for o in found] == expected


def test_nothing_but_sizes_is_captured() -> None:
    for function, _ in FORMS.values():
        made = ps.split(function, ps.spec("float64", ["N", 3])).split
        assert {made.kind(c) for c in made.captures} <= {"shape"}


def test_a_tile_sums_its_copies_in_one_reduction() -> None:
    found = ps.split(lambda x: np.tile(x, (2, 3)), ps.spec("float64", ["N", 3])).split.pullback.ops
    assert [o.kind for o in found].count("ReduceSum") == 1
    np.testing.assert_array_equal(ps.grad(lambda x: np.tile(x, (2, 3)).sum())(np.ones((2, 2))), np.full((2, 2), 6.0))


def test_an_unused_part_of_a_split_gets_zeros() -> None:
    found = ps.grad(lambda x: (np.split(x, 3)[1] * np.array([5.0, 7.0])).sum())(np.arange(6.0))
    np.testing.assert_array_equal(found, [0, 0, 5, 7, 0, 0])


def test_what_padding_copies_adds_to_its_source() -> None:
    weights = np.arange(1.0, 8.0)
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        plain = np.zeros(3)
        np.add.at(plain, np.pad(np.arange(3), 2, mode=mode), weights)
        found = ps.grad(lambda x, mode=mode: (np.pad(x, 2, mode=mode) * weights).sum())(np.zeros(3))
        np.testing.assert_array_equal(found, plain)


def test_a_slice_whose_axes_and_steps_only_the_run_knows_has_its_gradient() -> None:
    def cut(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
        return op.Slice(x, starts, ends, axes, steps)

    vectors = [ps.spec("int64", [1])] * 4
    made = ps.split(cut, ps.spec("float64", [5, 4]), *vectors, wrt="x").joint()
    x = np.arange(20.0).reshape(5, 4)
    bounds = [np.array([v]) for v in (3, -100, 1, -2)]
    value, gradient = made(x, *bounds, np.ones((5, 2)))
    np.testing.assert_array_equal(value, x[:, 3::-2])
    np.testing.assert_array_equal(gradient, np.tile([0.0, 1.0, 0.0, 1.0], (5, 1)))


def test_edges_of_an_axis_whose_size_takes_long_to_tell_have_a_gradient() -> None:
    def energy(x: Any) -> Any:
        third = op.AveragePool(x[:, :, ::2], kernel_shape=[1], strides=[3], ceil_mode=1)
        return np.sum(op.Pad(third, [0, 0, 2, 0, 0, -1], mode="edge") ** 2)

    for size in (7, 13):
        x = np.arange(1.0, size + 1).reshape(1, 1, size)
        found = ps.split(energy, ps.spec("float64", ["B", 1, "N"])).joint()(x)[1]
        kept = x[0, 0, ::6][:-1]
        wanted = np.zeros(size)
        wanted[::6][: len(kept)] = 2 * kept
        wanted[0] *= 3
        np.testing.assert_array_equal(found[0, 0], wanted)


@pytest.mark.parametrize("row", rows_of("layout"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
