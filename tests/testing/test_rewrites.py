"""check_rewrite finds a rewrite that is not used, and one that changes a bit or more than rounding."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.rewrites.matching import pattern
from primsplit.rewrites.rewrites.patterns import rewrite
from tests.registered import only_here

X = np.linspace(-2.0, 2.0, 12)


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    """Rewrites that a test registers are gone after it."""
    with only_here():
        yield


def test_one_that_keeps_every_bit_passes() -> None:
    found = rewrite(lambda x: pattern.Div(x, 4.0), None, lambda x: x * 0.25, exact="bit")
    assert ps.testing.check_rewrite(found, lambda x: x / 4.0 + (x + 1.0) / 4.0, X) == 2


@pytest.mark.parametrize(
    ("wanted", "build", "function"),
    [
        (lambda x: pattern.Add(x, 0.0), lambda x: x, lambda x: x + 0.0),
        (lambda x: pattern.Sub(x, x), lambda x: x * 0.0, lambda x: x - x),
        (lambda x: pattern.Div(x, 3.0), lambda x: x * (1.0 / 3.0), lambda x: x / 3.0),
    ],
    ids=["-0.0 + 0.0 is 0.0", "inf - inf is no -0.0 * 0", "a third rounds"],
)
def test_one_that_changes_a_bit_fails(wanted: Any, build: Any, function: Any) -> None:
    with pytest.raises(ps.testing.CheckFailed, match="is right") as caught:
        ps.testing.check_rewrite(rewrite(wanted, None, build, exact="bit"), function, X)
    assert caught.value.check == "same"


def test_one_that_rounds_may_round_and_no_more() -> None:
    third = rewrite(lambda x: pattern.Div(x, 3.0), None, lambda x: x * (1.0 / 3.0), exact="rounds")
    assert ps.testing.check_rewrite(third, lambda x: x / 3.0, X) == 1
    wrong = rewrite(lambda x: pattern.Div(x, 5.0), None, lambda x: x * 0.2000001, exact="rounds")
    with pytest.raises(ps.testing.CheckFailed, match="is right"):
        ps.testing.check_rewrite(wrong, lambda x: x / 5.0, X)


def test_one_that_is_not_used_says_why() -> None:
    found = rewrite(lambda x: pattern.Div(x, 3.0), lambda x: "x is no integer", lambda x: x, exact="bit")
    with pytest.raises(ps.testing.CheckFailed, match=r"used: x is no integer \(test_rewrites.py:"):
        ps.testing.check_rewrite(found, lambda x: x / 3.0, X)
    with pytest.raises(ps.testing.CheckFailed, match=r"used: Rewrite Div\(x, 3.0\) fits no ops"):
        ps.testing.check_rewrite(found, lambda x: x / 7.0, X)
