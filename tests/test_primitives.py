"""Primitives with rules: what their programs may read."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.errors import TraceError
from tests.numpy.agreement import check_grads


@ps.primitive
def mean_square(x: Any) -> Any:
    return (x * x).sum() / x.shape[0]


@ps.rrule(mean_square)
def _mean_square(x: Any) -> Any:
    return mean_square(x), lambda dz: (2.0 * dz * x / x.shape[0],)


def test_a_primitive_with_a_rule_reads_a_size_that_was_read_around_it() -> None:
    def f(x: Any) -> Any:
        return mean_square(x * x.shape[0]) + mean_square(np.concatenate([x, x]) / (x.shape[0] + 1.0))

    check_grads(f, np.array([0.3, -1.2, 0.8]), resize=(1,))


def test_a_primitive_with_a_rule_reads_no_value_that_is_not_its_argument() -> None:
    def f(x: Any) -> Any:
        @ps.primitive
        def scaled(y: Any) -> Any:
            return y * x

        ps.rrule(scaled)(lambda y: (scaled(y), lambda dz: (dz,)))
        return scaled(x + 1.0)

    with pytest.raises(TraceError, match="reads a traced value that is not an argument") as caught:
        ps.trace(f, np.ones(3))
    assert "test_primitives.py" in str(caught.value)
