"""Sums of products with a mask: values and gradients."""

import pytest

from tests.frontends.loops.checks import check_gradients, check_sizes, check_value
from tests.frontends.loops.corpus import CONTRACTIONS, Row

ROWS = [row for row in CONTRACTIONS if "<=" in row.text]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text)
def test_a_nest_has_the_value_dtype_and_shape_that_its_loops_have(row: Row) -> None:
    check_value(row)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.text)
def test_its_gradients_are_those_of_differences(row: Row) -> None:
    check_gradients(row)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("row", [row for row in ROWS if row.axes], ids=lambda row: row.text)
def test_one_program_of_symbolic_sizes_has_value_and_gradients_at_every_size(row: Row) -> None:
    check_sizes(row)
