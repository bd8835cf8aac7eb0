"""Nests that are built by hand."""

import numpy as np

from primsplit.frontends.loops.builder import NestBuilder
from primsplit.frontends.loops.interpreter import interpret

ROWS = np.array([0, 2, 1, 0])


def test_the_builder_has_picked_indices_whole_numbers_and_arrays_that_it_makes() -> None:
    nest = NestBuilder()
    x, rows = nest.arrays("x", "rows")
    n = nest.whole_number("n")
    y = nest.made("y")
    i = nest.loop("i", rows.length(0))
    y[i] = x[rows.picked(i), n - 1] * 2.0 + nest.turn(i)
    found = interpret(nest.finished(), {"x": np.arange(6.0).reshape(3, 2), "rows": ROWS, "n": 2})["y"]
    np.testing.assert_array_equal(found, [2, 11, 8, 5])
