"""Sessions: when a run plans its memory."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps


@pytest.mark.parametrize(
    ("shape", "is_planned"), [([], True), ([1000], True), ([1000, 1000], True), ([2000, 2000], False), (["N"], False)]
)
def test_memory_is_planned_where_it_is_surely_little(shape: Any, is_planned: bool) -> None:
    program = ps.trace(lambda x: np.exp(x) * 2.0, ps.spec("float64" if len(shape) < 2 else "float32", shape))
    assert program.session().session.get_session_options().enable_mem_pattern == is_planned
