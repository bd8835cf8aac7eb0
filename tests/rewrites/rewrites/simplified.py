"""Check what `simplify` makes of a function of one array."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ops.inference import check_types
from primsplit.rewrites import drop_dead_code, simplify
from tests.random_programs import bits, run
from tests.recording import kinds, record

ONES, HALF = np.ones((4, 3), np.float32), np.float32(0.5)
F32, F64, F16 = np.float32, np.float64, np.float16
SPECIAL = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, 3e38, -3e38, 1.5, -2.25, 7], np.float32)


def check_leaves(function: Callable[..., Any], left: list[str], *, is_exact: bool = True) -> None:
    """These operators are left of a function of float32[4,3], and its bits stay."""
    block = record(lambda x: function(x), "float32[4,3]")
    after = drop_dead_code(simplify(block))
    check_types(after)
    assert kinds(after) == left
    inputs = [SPECIAL.reshape(4, 3)]
    assert bits(run(after, inputs)) == bits(run(block, inputs)) or not is_exact


def check_stays(function: Callable[..., Any], spec: str) -> None:
    """No operator of a function of one array goes."""
    block = record(lambda x: function(x), spec)
    assert kinds(drop_dead_code(simplify(block))) == kinds(block)
