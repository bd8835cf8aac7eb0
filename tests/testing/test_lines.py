"""A derivative along one direction, compared with central differences: what is right, wrong and unclear."""

from typing import Any

import numpy as np
import pytest

from primsplit.testing.lines import Errors, Line, compared


def line(
    found: Any, function: Any, x: float = 0.5, tolerance: float = 1e-6, exact: Any = None, rounding: float = 0.0
) -> Line:
    return compared(
        np.asarray(found), function, [np.array(x)], [np.array(1.0)],
        Errors(tolerance, 1e-3, 1.0, lambda: (np.asarray(found if exact is None else exact), rounding)),
    )  # fmt: skip


def test_a_right_derivative_is_ok_and_a_wrong_one_is_told_with_both_numbers() -> None:
    assert line(np.cos(0.5), lambda a: np.sin(a[0])).verdict == "ok"
    wrong = line(np.cos(0.5) + 1e-3, lambda a: np.sin(a[0]), exact=np.inf)
    assert wrong.verdict == "wrong"
    assert "0.878582562, differences say 0.877582562" in wrong.note
    assert wrong.error == pytest.approx(1e-3 / np.cos(0.5), rel=1e-6)


def test_what_is_not_finite_is_wrong() -> None:
    assert line(np.nan, lambda a: np.sin(a[0])) == Line(np.inf, "wrong", "not finite")


@pytest.mark.parametrize(("slope", "verdict"), [(1.0, "ok"), (-1.0, "ok"), (0.3, "ok"), (1.5, "wrong")])
def test_at_a_kink_any_slope_between_those_of_the_sides_is_right(slope: float, verdict: str) -> None:
    assert line(slope, lambda a: np.abs(a[0]), 0.0, exact=np.inf).verdict == verdict


def test_a_derivative_may_be_off_by_few_roundings_of_its_program_and_no_more() -> None:
    """The program's exact derivative is right; its own dtypes lose some digits."""
    for off, verdict in ((3e-4, "ok"), (5e-4, "wrong")):
        assert line(np.cos(0.5) + off, lambda a: np.sin(a[0]), exact=np.cos(0.5), rounding=1e-4).verdict == verdict


def test_differences_that_do_not_settle_leave_it_unclear() -> None:
    """The error is infinite only where the differences are no numbers."""
    wild = line(1e12, lambda a: np.sin(1e9 * a[0]), exact=np.inf)
    assert (wild.verdict, wild.note) == ("unclear", "the differences do not settle")
    assert 0.0 < wild.error < np.inf
    with np.errstate(invalid="ignore"):
        none = line(1.0, lambda a: np.sqrt(-1.0 - a[0]), exact=np.inf)
    assert (none.verdict, none.error) == ("unclear", np.inf)


def test_each_element_of_a_result_is_compared() -> None:
    def both(a: Any) -> Any:
        return np.stack([np.sin(a[0]), a[0] ** 2])

    assert line([np.cos(0.5), 1.0], both).verdict == "ok"
    assert line([np.cos(0.5), 1.1], both, exact=np.full(2, np.inf)).verdict == "wrong"
