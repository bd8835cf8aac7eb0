"""`math.fsum` of traced numbers: passes replace the numbers by their sum and the rounding errors of its additions.

[1e16, 1, -1e16]  ->  [0, 1, 0]  ->  1.0
"""

from typing import Any

import numpy as np

from primsplit.tracing.calls.primitive import stop_gradient

PASSES = 3
"""The sum is that of numbers of 4 times the digits, rounded (Ogita, Rump, Oishi 2005, algorithm 4.8 by pairs)."""


def exact_sum(x: Any) -> Any:
    """Return the sum of a vector of float64 whose size is known, with the derivative of a sum.

    It is Python's, or a neighbour of it where that is nearly as near, unless the numbers cancel to less than 1e-45 of
    their size. Infinity stays.
    """
    total = np.sum(x)
    parts = stop_gradient(x)
    for _ in range(PASSES if x.shape[0] > 1 else 0):
        parts = _distilled(parts)
    found = parts[0] + np.sum(parts[1:])
    is_finite = np.isfinite(found)
    return np.where(is_finite, np.where(is_finite, found, 0.0) + (total - stop_gradient(total)), total)


def _distilled(x: Any) -> Any:
    """Return the sum of a vector, in pairs, and the errors of the additions: the exact sum is the same."""
    errors = []
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        pairs, error = _two_sum(x[:half], x[half : 2 * half])
        errors.append(error)
        x = np.concatenate([pairs, x[2 * half :]])
    return np.concatenate([x, *reversed(errors)])


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a + b and its rounding error (Knuth, The Art of Computer Programming, volume 2, section 4.2.2)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)
