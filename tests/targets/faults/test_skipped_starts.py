"""The windows of a pool with SAME padding begin at the start where they need no padding."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.targets.finish import finish
from primsplit.testing.windows import average_pool, lp_pool, max_pool

POOLS = {"MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool}
FORMS: list[dict[str, Any]] = [
    {"kernel_shape": (1,), "strides": (3,), "auto_pad": "SAME_UPPER"},
    {"kernel_shape": (1,), "strides": (4,), "auto_pad": "SAME_LOWER"},
    {"kernel_shape": (2,), "strides": (5,), "auto_pad": "SAME_UPPER"},
    {"kernel_shape": (2, 1), "strides": (2, 3), "auto_pad": "SAME_UPPER"},
]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_pool_and_the_value_beside_its_gradient_are_of_the_same_windows(kind: str, form: Any, dtype: str) -> None:
    def pooled(x: Any) -> Any:
        return getattr(op, kind)(x, **form)

    rank = len(form["kernel_shape"])
    spec = ps.spec(dtype, ["B", 1, *(f"N{axis}" for axis in range(rank))])
    made = ps.split(lambda x: np.sum(pooled(x) ** 2), spec).joint()
    for size in range(1, 9):
        x = np.random.default_rng(size).standard_normal((1, 1, *[size] * rank)).astype(dtype)
        wanted = POOLS[kind](x, **form)
        for given in (spec, x):
            np.testing.assert_allclose(ps.trace(pooled, given)(x), wanted, rtol=1e-5)
        value, gradient = made(x)
        np.testing.assert_allclose(value, np.sum(wanted**2), rtol=1e-5)
        np.testing.assert_allclose(np.sum(gradient * x), 2 * value, rtol=1e-4)


def test_nothing_is_cut_where_windows_are_as_long_as_the_stride() -> None:
    program = ps.trace(
        lambda x: op.MaxPool(x, kernel_shape=(3,), strides=(3,), auto_pad="SAME_UPPER"), ps.spec("float32", [1, 1, "N"])
    )
    assert [step.kind for step in finish(program.block).ops] == ["MaxPool"]
