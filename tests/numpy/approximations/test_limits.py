"""The largest and smallest numbers of a dtype, of a traced array."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.numpy.approximations.limits import float_limits


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_limits_are_those_of_the_dtype(dtype: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(float_limits(x))
        return x

    ps.trace(f, ps.spec(dtype, [2]))
    wanted = ml_dtypes.finfo(dtype)
    assert (seen[0].max, seen[0].tiny, seen[0].eps) == (wanted.max, wanted.tiny, wanted.eps)
