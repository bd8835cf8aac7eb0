"""Cotangents of what choices leave out: zero, whatever the derivatives are there."""

from typing import Any

import numpy as np
import pytest

from primsplit.frontends.loops.builder import NestBuilder
from primsplit.frontends.loops.chosen import Chosen, added
from primsplit.frontends.loops.notation import parse_notation
from tests.frontends.loops.running import pulled_back


@pytest.mark.parametrize(
    ("text", "x", "wanted"),
    [
        ("y := log(x[i]) if x[i] > 0 else 0", [0.0, 2.0, -1.0], [0.0, 0.5, 0.0]),
        ("y := 1/x[i] if x[i] > 0 else x[i]", [0.0, 2.0], [1.0, -0.25]),
        ("y := sqrt(x[i]) if x[i] > 0 else 0", [0.0, 4.0], [0.0, 0.25]),
        ("y := (exp(x[i]*1000) if x[i] < 0 else x[i]) * 3", [1.0, 0.0], [3.0, 3.0]),
        ("y := (1/x[i] if x[i] > 0 else 0) + (1/x[i] if x[i] > 0 else 1)", [0.0, 2.0], [0.0, -0.5]),
    ],
)
def test_what_a_choice_leaves_out_has_a_gradient_of_zero(text: str, x: list[float], wanted: list[float]) -> None:
    """However infinite the derivative of what it left out is."""
    with np.errstate(all="ignore"):
        found = pulled_back(parse_notation(text), {"x": np.array(x)}, {"y": 1.0}, ["x"])["x"]
    np.testing.assert_allclose(found, wanted)


def lines() -> tuple[NestBuilder, Any, Any]:
    nest = NestBuilder()
    x, w = nest.arrays("x", "w")
    i, j = nest.loop("i", x.length(0)), nest.loop("j", x.length(1))
    return nest, x[i, j], w[i].equal(0.0)


def test_a_choice_that_does_not_depend_on_the_loops_of_a_sum_is_made_behind_it() -> None:
    _, term, condition = lines()
    outer = Chosen(term).chosen(condition, where=True)
    assert outer.sum(["j"]).choices == ((condition.at, True),)
    assert outer.sum(["i", "j"]).choices == ()
    assert outer.sum([]) is outer
    assert outer.chosen(condition, where=True) is outer


def test_choices_that_all_parts_of_a_sum_are_in_are_made_behind_it() -> None:
    _, term, condition = lines()
    inside, outside = Chosen(term).chosen(condition, where=False), Chosen(term)
    assert added([inside, inside]).choices == ((condition.at, False),)
    assert added([inside, outside]).choices == ()
