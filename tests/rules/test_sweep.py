"""Every derivative rule, row by row, through all checks of `check_rrule`; the fast ones are in the files of modules."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.rules.table import RULES
from primsplit.testing import check_rrule
from tests.rules.rows import INTEGER, NO_GRADIENT, RANDOM, ROWS, Row


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_rule_passes_every_check(row: Row, seed: int) -> None:
    check_rrule(row.kind, *row.inputs, **{**row.arguments, "seed": seed})


@pytest.mark.parametrize("row", NO_GRADIENT, ids=str)
def test_no_gradient_flows_through_an_operator_that_picks_or_rounds(row: Row) -> None:
    made = ps.split(lambda *xs: (getattr(ps.ops.op, row.kind)(*xs), xs[0] * 1.0), *row.inputs, of=[1])
    assert made.split.targets == (0,)
    report = check_rrule(row.kind, *row.inputs, **{**row.arguments, "only": ["primal"]})
    assert report.nodes == []


def test_every_registered_operator_has_a_row() -> None:
    with_rows = {row.kind for row in (*ROWS, *NO_GRADIENT)} | INTEGER | RANDOM
    assert sorted(set(RULES) - with_rows) == []


def test_a_row_is_for_a_registered_operator() -> None:
    assert sorted({row.kind for row in (*ROWS, *NO_GRADIENT)} - set(RULES)) == []
    assert np.all([RULES[row.kind].form == "no_gradient" for row in NO_GRADIENT])
