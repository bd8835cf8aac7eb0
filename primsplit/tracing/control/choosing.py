"""`safe_where`: a choice by elements in which the other side's NaN and infinities do no harm."""

from typing import Any

import numpy as np

from primsplit.tracing.control.structure import Function


def safe_where(
    condition: Any, true_function: Function, false_function: Function, *operands: Any, safe: float = 1.0
) -> Any:
    """`np.where(condition, true_function(*operands), false_function(*operands))` without NaN from the other side.

    Each function sees its operands where the condition selects it, and the number `safe` elsewhere, so that neither its
    value nor its derivative there is infinite or NaN. (`np.where` alone keeps the gradient 0 * inf = NaN of a side that
    was not chosen.) The operands broadcast against the condition.

    >>> log = lambda x: np.sum(ps.safe_where(x > 0, np.log, lambda x: 0.0 * x, x))
    >>> ps.grad(log)(np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    chosen = [np.where(condition, x, safe) for x in operands]
    others = [np.where(condition, safe, x) for x in operands]
    return np.where(condition, true_function(*chosen), false_function(*others))
