"""Linear lists for one seed at a time: what they leave out, and as few lists as the program allows."""

from typing import Any

import numpy as np
import pytest

from primsplit.ir import Block
from primsplit.ops import op
from primsplit.transforms.linear import Linear, Mode, linear_lists
from tests.random_programs import run
from tests.recording import kinds, record

X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25, -0.5])


def two(x: Any, y: Any) -> Any:
    """x sin y + y, whose derivatives by both are added in forward mode, and x y, which reads both too."""
    return op.Add(op.Mul(x, op.Sin(y)), y), op.Mul(x, y)


def moved(linear: Linear, seeds: list[Any]) -> list[Any]:
    """The results of a linear list at X and Y."""
    block = Block("f", (*linear.primal.params, *linear.listed.params[len(linear.captures) :]),
                  (*linear.primal.ops, *linear.listed.ops), linear.listed.results)  # fmt: skip
    return run(block, [X, Y, *seeds])


def block() -> Block:
    return record(two, "float64[3]", "float64[3]")


DERIVATIVES = {(0, 0): np.sin(Y), (0, 1): Y, (1, 0): X * np.cos(Y) + 1, (1, 1): X}
"""By parameter and result."""


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_there_is_a_list_for_each_source_of_its_own_targets(mode: Mode) -> None:
    wanted = {0: [1], 1: [0, 1]}
    lists = list(linear_lists(block(), mode, wanted))
    assert [(each.sources, each.targets) for each in lists] == [((0,), (1,)), ((1,), (0, 1))]
    for each in lists:
        (source,) = each.sources
        for target, found in zip(each.targets, moved(each, [np.ones(3)]), strict=True):
            pair = (source, target) if mode == "forward" else (target, source)
            np.testing.assert_allclose(found, DERIVATIVES[pair], rtol=1e-13)


def test_there_is_one_list_for_all_if_the_program_draws() -> None:
    drawing = record(lambda x, y: (op.Mul(x, op.RandomNormalLike(y)), op.Mul(x, y)), "float64[3]", "float64[3]")
    (whole,) = linear_lists(drawing, "forward", {0: [0], 1: [1]})
    assert (whole.sources, whole.targets) == ((0, 1), (0, 1))
    assert list(linear_lists(drawing, "forward", {})) == []


def test_the_list_of_one_seed_adds_no_zeros_and_keeps_what_it_reaches() -> None:
    drawing = record(lambda x, y: (*two(x, y), op.Mul(y, op.RandomNormalLike(y))), "float64[3]", "float64[3]")
    (whole,) = linear_lists(drawing, "forward", {0: [0, 1, 2], 1: [0, 1, 2]})
    one = whole.of_one(0)
    assert (one.sources, one.targets) == ((1, 0), (0, 1))
    assert kinds(one.listed) == ["Mul", "Mul"]
    assert "Add" in kinds(whole.listed)
    # The seed that is zero is not multiplied: it may be anything.
    first, second = moved(one, [np.full(3, np.nan), np.ones(3)])
    np.testing.assert_allclose(first, np.sin(Y))
    np.testing.assert_allclose(second, Y)


def test_a_sum_that_broadcasts_its_other_term_keeps_its_shape() -> None:
    drawing = record(lambda x, y: (op.Add(x, op.ReduceSum(y, [0])), op.RandomNormalLike(x)), "float64[3]", "float64[3]")
    (whole,) = linear_lists(drawing, "forward", {0: [0], 1: [0]})
    (found,) = moved(whole.of_one(1), [np.zeros(3), Y])
    np.testing.assert_allclose(found, np.full(3, Y.sum()))
