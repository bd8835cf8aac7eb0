"""A cotangent is brought to the shape and dtype of its primal."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_grads


@ps.primitive
def times(x: Any, y: Any) -> Any:
    return x * y


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [((3, 4), (4,)), ((3, 4), (3, 1)), ((3, 4), (1, 4)), ((4,), (3, 4)), ((3, 1), (1, 4)), ((2,), ())],
)
def test_a_rule_projects_its_cotangents_onto_its_arguments(wide: tuple[int, ...], narrow: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    check_grads(times, random.normal(size=wide), random.normal(size=narrow))


def test_a_projection_gives_the_dtype_of_the_argument_and_none_where_it_has_no_tangent() -> None:
    x, y = np.ones((2, 3), np.float32), np.full(3, 2.0)
    d_x, d_y = ps.grad(lambda x, y: times(x, y).sum(), (0, 1))(x, y)
    assert d_x.dtype == np.float32
    np.testing.assert_array_equal(d_x, np.full((2, 3), 2.0))
    np.testing.assert_array_equal(d_y, np.full(3, 2.0))
    counts = np.arange(3)
    np.testing.assert_array_equal(ps.grad(lambda y: times(counts, y).sum())(y), counts)


def total(x: Any) -> Any:
    return np.sum(x)


def test_a_cotangent_of_fewer_axes_is_refused_at_the_rule() -> None:
    @ps.primitive
    def total(x: Any) -> Any:
        return x.sum()

    ps.rrule(total)(lambda x: (total(x), lambda dz: (ps.project_to(x)(dz),)))
    with pytest.raises(ShapeError, match=r"does not come from broadcasting float64\[3\]") as caught:
        ps.grad(total)(np.ones(3))
    assert "test_projection.py" in str(caught.value)
