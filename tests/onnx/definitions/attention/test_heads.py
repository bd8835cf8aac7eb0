"""The layout of attention's heads: packed and apart, in groups that share keys, and their scales."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from primsplit.onnx.definitions.attention import heads

X = np.arange(2.0 * 3 * 12).reshape(2, 3, 12)
SPEC = ps.spec("float64", ["B", "L", 12])


def test_heads_are_split_and_joined_again() -> None:
    """Feature `4 h + i` is feature i of head h."""
    split = ps.trace(lambda x: heads.split_heads(x, 3), SPEC)
    for count in (0, 1, 3):
        x = X[:, :count]
        np.testing.assert_array_equal(split(x), x.reshape(2, count, 3, 4).transpose(0, 2, 1, 3))
        again = ps.trace(lambda x: heads.joined_heads(heads.split_heads(x, 3)), SPEC)(x)
        np.testing.assert_array_equal(again, x)


def test_heads_that_share_a_key_are_rows_of_one_matrix_and_apart_again() -> None:
    x = np.arange(2.0 * 6 * 5 * 4).reshape(2, 6, 5, 4)
    shared = ps.trace(lambda x: heads.grouped(x, 2), x)(x)
    np.testing.assert_array_equal(shared, x.reshape(2, 2, 15, 4))
    again = ps.trace(lambda x: heads.ungrouped(heads.grouped(x, 2), 6, 5), x)(x)
    np.testing.assert_array_equal(again, x)
    for function, told in (
        (lambda x: heads.grouped(x, 4), "6 heads of queries cannot share 4"),
        (lambda x: heads.split_heads(x[0], 3), "4 features cannot be split into 3 heads"),
    ):
        with pytest.raises(ShapeError, match=told):
            ps.trace(function, x)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_product_of_scaled_queries_and_keys_is_the_scaled_product(dtype: str) -> None:
    """In 16 bits each has the root of the scale, so that 300 times 300 does not overflow."""
    q = k = np.full((1, 1, 1, 4), 300.0).astype(dtype)

    def product(q: Any, k: Any) -> Any:
        one, other = heads.scaled(q, k, 0.125)
        return np.matmul(one, np.swapaxes(other, -1, -2))

    np.testing.assert_allclose(ps.trace(product, q, k)(q, k).ravel(), [4 * 90000 * 0.125], rtol=2e-3)


def test_the_scale_of_a_head_is_the_root_of_its_size() -> None:
    for size in (1, 4, 0):
        x = np.zeros((1, 1, 2, size))
        assert float(ps.trace(lambda x: x.sum() + heads.default_scale(x), x)(x)) == max(size, 1) ** -0.5


def test_places_are_counted_from_any_start() -> None:
    counted = ps.trace(lambda x: heads.counted(3, x.shape[1]), SPEC)
    np.testing.assert_array_equal(counted(X), [3, 4, 5])
    np.testing.assert_array_equal(counted(X[:, :0]), np.zeros(0))
