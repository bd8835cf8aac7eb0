"""Pools with ceil_mode have no window that begins in the padding, nor count what they reach over it."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.passes.finish import finish
from primsplit.testing.windows import average_pool, max_pool

FORMS = [((1,), (3,), (0, 0)), ((2,), (3,), (1, 1)), ((2,), (2,), (1, 1)), ((2,), (4,), (0, 1)), ((3,), (2,), (1, 1))]
WITH_A_CUT = FORMS[:4]


def options(form: Any, **more: Any) -> dict[str, Any]:
    kernel, strides, pads = form
    return {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": 1, **more}


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_window_begins_in_the_padding(form: Any, dtype: str) -> None:
    whole = ps.trace(lambda x: op.MaxPool(x, **options(form)), ps.spec(dtype, [1, 2, "L"]))
    for length in range(3, 12):
        x = np.random.default_rng(length).standard_normal((1, 2, length)).astype(dtype)
        wanted = max_pool(x, **options(form))
        np.testing.assert_array_equal(whole(x), wanted)
        np.testing.assert_array_equal(ps.trace(lambda x: op.MaxPool(x, **options(form)), x)(x), wanted)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("include", [0, 1])
def test_an_average_counts_padding_and_not_what_is_beyond(form: Any, include: int) -> None:
    more = options(form, count_include_pad=include)
    for length in range(3, 12):
        x = np.random.default_rng(length).standard_normal((1, 2, length)).astype(np.float32)
        for spec in (x, ps.spec("float32", [1, 2, "L"])):
            found = ps.trace(lambda x: op.AveragePool(x, **more), spec)(x)
            np.testing.assert_allclose(found, average_pool(x, **more), rtol=1e-5, atol=1e-6)


def kinds(form: Any, size: Any) -> list[str]:
    program = ps.trace(lambda x: op.MaxPool(x, **options(form)), ps.spec("float32", [1, 2, size]))
    return [step.kind for step in finish(program.block).ops]


def test_a_cut_is_written_only_where_something_may_be_cut() -> None:
    assert "Slice" in kinds(WITH_A_CUT[0], "L")
    assert "Slice" in kinds(WITH_A_CUT[0], 3)
    assert kinds(WITH_A_CUT[0], 4) == ["MaxPool"]
    assert kinds(FORMS[4], "L") == ["MaxPool"]
