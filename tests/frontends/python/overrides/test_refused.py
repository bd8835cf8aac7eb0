"""Functions of SciPy whose steps depend on values: refused by name, with what to write."""

import numpy as np
import pytest
import scipy.linalg
import scipy.special
import scipy.stats

import primsplit as ps

X = np.array([0.7, 1.9, -0.4])


def test_a_function_of_scipy_that_is_not_served_is_named() -> None:
    with pytest.raises(ps.PrimsplitError) as caught:
        ps.trace(lambda x: scipy.stats.skellam.logpmf(3, x[1], 1.0), X)
    assert "rv_discrete.logpmf asked for it" in str(caught.value)
    assert "ps.primitive" in str(caught.value)
    with pytest.raises(ps.PrimsplitError, match=r"moment of scipy.stats.norm"):
        ps.trace(lambda x: scipy.stats.norm(x[0], 1).moment(2), X)
