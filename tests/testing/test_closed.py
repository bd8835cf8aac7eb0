"""A split is closed: its listing is the expected one, and it holds no Python object and no foreign value."""

from dataclasses import replace

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Var
from primsplit.ir.parts import Split
from primsplit.testing import check_rrule
from primsplit.testing.closed import assert_closed, code_lines
from primsplit.testing.failures import CheckFailed
from tests.testing.breaking import F, fails


def test_a_listing_that_differs_fails_and_one_that_is_the_same_passes() -> None:
    good = """
        Neg(X: float64[3]):   # any comment
          a: float64[3] = Neg(X)
          return a
        Neg.pullback(d_y0: float64[3]):
          d_X: float64[3] = Neg(d_y0)
          return d_X
    """
    check_rrule("Neg", F, listing=good, only=["closed"])
    fails("closed", "Neg", F, listing=good.replace("a: float64[3]", "c: float64[3]"), only=["closed"])


def split_of() -> Split:
    return ps.split(lambda x: np.sum(np.sin(x) * x), np.ones(3)).split


def test_the_split_of_a_function_is_closed() -> None:
    assert_closed(split_of())


def test_a_capture_that_the_primal_does_not_define_or_nobody_reads_is_told() -> None:
    made = split_of()
    assert made.captures
    foreign = Var(made.captures[0].type)
    with pytest.raises(CheckFailed):
        assert_closed(replace(made, captures=(foreign, *made.captures[1:])))
    with pytest.raises(CheckFailed):
        assert_closed(replace(made, captures=made.captures[1:]))


def test_comments_columns_and_blank_lines_do_not_count() -> None:
    assert code_lines("a  =  Sin(x)   # of x\n\n   b = Cos(a)\n# alone") == ["a = Sin(x)", "b = Cos(a)"]
