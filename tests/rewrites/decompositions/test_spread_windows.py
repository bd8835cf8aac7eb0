"""Dilated windows with SAME padding lie where the standard has them, in values and beside gradients."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.windows import average_pool, conv, lp_pool, max_pool, max_pool_with_places

POOLS = {"MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool}
FORMS: list[dict[str, Any]] = [
    {"kernel_shape": (3,), "strides": (2,), "dilations": (2,), "auto_pad": "SAME_UPPER"},
    {"kernel_shape": (3,), "dilations": (3,), "auto_pad": "SAME_LOWER"},
    {"kernel_shape": (3, 1), "strides": (2, 3), "dilations": (2, 2), "auto_pad": "SAME_LOWER"},
    {"kernel_shape": (1, 2), "strides": (1, 2), "dilations": (2, 1), "auto_pad": "SAME_UPPER"},
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("kind", [*POOLS, "Conv"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_value_and_that_beside_its_gradient_are_of_the_same_windows(kind: str, form: Any, dtype: str) -> None:
    rank = len(form["kernel_shape"])
    weights = np.random.default_rng(0).standard_normal((1, 1, *form["kernel_shape"])).astype(dtype)

    def windowed(x: Any) -> Any:
        return op.Conv(x, weights, **form) if kind == "Conv" else getattr(op, kind)(x, **form)

    spec = ps.spec(dtype, ["B", 1, *(f"N{axis}" for axis in range(rank))])
    made = ps.split(lambda x: np.sum(windowed(x) ** 2), spec).joint()
    for size in range(1, 9):
        x = np.random.default_rng(size).standard_normal((1, 1, *[size] * rank)).astype(dtype)
        wanted = conv(x, weights, **form) if kind == "Conv" else POOLS[kind](x, **form)
        for given in (spec, x):
            np.testing.assert_allclose(ps.trace(windowed, given)(x), wanted, rtol=1e-4, atol=1e-6)
        value, gradient = made(x)
        np.testing.assert_allclose(value, np.sum(wanted**2), rtol=1e-4)
        np.testing.assert_allclose(np.sum(gradient * x), 2 * value, rtol=1e-3)


def test_an_average_over_padding_too_counts_it() -> None:
    form: dict[str, Any] = {**FORMS[0], "count_include_pad": 1}
    x = np.random.default_rng(1).standard_normal((2, 1, 7)).astype(np.float32)
    found = ps.trace(lambda x: op.AveragePool(x, **form), ps.spec("float32", ["B", 1, "N"]))(x)
    np.testing.assert_allclose(found, average_pool(x, **form), rtol=1e-5)


@pytest.mark.parametrize("storage_order", [0, 1])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_places_of_maxima_are_those_in_the_array(form: Any, storage_order: int) -> None:
    rank = len(form["kernel_shape"])
    program = ps.trace(
        lambda x: op.MaxPool(x, outputs=2, storage_order=storage_order, **form),
        ps.spec("float32", ["B", "C", *(f"N{axis}" for axis in range(rank))]),
    )
    for size in (1, 2, 5, 6):
        x = np.random.default_rng(size).standard_normal((2, 3, *range(size, size + rank))).astype(np.float32)
        for found, wanted in zip(program(x), max_pool_with_places(x, storage_order=storage_order, **form), strict=True):
            np.testing.assert_array_equal(found, wanted)
