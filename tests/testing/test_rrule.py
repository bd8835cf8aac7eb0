"""check_rrule passes a right rule, and each of its checks fails a rule that is broken in just that way."""

from typing import Any

import pytest

import primsplit as ps
from primsplit.testing import CheckFailed, check_rrule
from tests.testing.breaking import WIDE, F


def test_a_right_rule_passes_every_check_and_tells_what_it_found() -> None:
    report = check_rrule("Mul", WIDE, F, expected_captures={"A": "input", "B": "input"}, separate=True)
    assert report.nodes == ["Mul", "Mul", "ReduceSum"]
    assert report.checks == [
        "form", "closed", "primal", "differences", "linear", "repeat", "subset", "sizes", "dtypes", "second_order",
        "forward", "files", "counters",
    ]  # fmt: skip
    assert report.dtypes == ["float32", "float16"]
    assert "[0, 0], [0]" in report.sizes


def test_a_primitive_with_a_wrong_rule_fails_and_with_a_right_one_passes() -> None:
    @ps.primitive
    def cube(x: Any) -> Any:
        return x * x * x

    ps.rrule(cube)(lambda x: (cube(x), lambda dy: (dy * 3.0 * x * x,)))
    check_rrule(cube, F)
    ps.rrule(cube)(lambda x: (cube(x), lambda dy: (dy * 3.0 * x,)))
    with pytest.raises(CheckFailed, match="differences"):
        check_rrule(cube, F)
