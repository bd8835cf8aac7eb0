"""Rules that are broken, and the check that fails for them."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rules.table import Rule
from primsplit.testing import CheckFailed, check_rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to

EPOCHS = itertools.count(1_000_000)
"""Numbers that no state of the tables of rules has had: what was recorded before is not taken."""

F = ps.spec("float64", [3])
WIDE = ps.spec("float64", [2, 3])


def fails(check: str, kind: str, *inputs: Any, **options: Any) -> str:
    with pytest.raises(CheckFailed) as caught:
        check_rrule(kind, *inputs, **options)
    assert caught.value.check == check, str(caught.value)
    return str(caught.value)


def product(dx: Callable[..., Any], dy: Callable[..., Any] | None = None) -> Rule:
    """A rule for Mul with these cotangents."""

    def rule(x: Array, y: Array) -> Any:
        right = (lambda dz, x, y: sum_to(dz * x, y.shape)) if dy is None else dy
        return op.Mul(x, y), lambda dz: (dx(dz, x, y), right(dz, x, y))

    return rule
