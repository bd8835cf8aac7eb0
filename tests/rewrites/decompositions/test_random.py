"""Random draws: their shares are those that were asked for."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op


@pytest.mark.parametrize("p", [0.0, 0.1, 0.9, 1.0])
def test_bernoulli_gives_1_with_the_probability_p(p: float) -> None:
    given = np.full(20_000, p, np.float32)
    found = ps.trace(lambda p: op.Bernoulli(p, seed=3.0), given)(given)
    assert found.dtype == np.float32
    assert set(np.unique(found)) <= {0.0, 1.0}
    assert abs(found.mean() - p) <= 5 * np.sqrt(p * (1 - p) / given.size)


def test_draws_have_the_dtype_that_is_asked_for() -> None:
    given = np.full(10, 0.5)
    assert ps.trace(lambda p: op.Bernoulli(p, dtype=np.int32), given)(given).dtype == np.int32
