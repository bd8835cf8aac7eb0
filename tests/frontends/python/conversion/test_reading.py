"""Reads of names that a join may leave unassigned."""

from typing import Any

import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError


def test_a_name_without_a_value_is_not_taken_for_one() -> None:
    def labelled(x: Any) -> Any:
        label = None
        for _ in range(70):
            if x > 2:
                break
            label = [x]
            x = x * 0.9 + 0.5
        return x - 100 if label is None else x

    with pytest.raises(ConcretizationError, match="a name that it assigns on one side only"):
        ps.trace(labelled, 1.0)
