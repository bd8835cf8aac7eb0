"""Functions whose source cannot be read: copies that read names through a view."""

import math
from typing import Any

import numpy as np

import primsplit as ps

X = np.array([0.3, 1.7, -0.4])


def test_a_function_without_source_reads_what_it_calls_through_its_names() -> None:
    names: dict[str, Any] = {"np": np, "sin": math.sin, "limit": 2.0}
    exec("def f(x):\n    return np.array([sin(x[0]), x[1]]).sum() * len(x) + max(x[0], limit)\n", names)
    f = names["f"]
    np.testing.assert_allclose(ps.trace(f, X)(X), f(X))
    assert names["np"] is np
    assert names["sin"] is math.sin
