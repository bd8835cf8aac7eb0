"""Products with vectors over many terms keep their digits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

PRODUCTS: dict[str, Callable[[Any], Any]] = {
    "two vectors": lambda x: x @ (3 * x),
    "a vector with itself": lambda x: x @ x,
    "rows with a vector": lambda x: np.stack([x, 2 * x]) @ x,
    "rows with a column": lambda x: np.stack([x, 2 * x]) @ x[:, None],
    "a vector with columns": lambda x: x @ np.stack([x, 2 * x], axis=1),
    "a row with transposed rows": lambda x: x[None] @ np.stack([x, 2 * x]).T,
    "transposed columns with a vector": lambda x: np.stack([x, 2 * x], axis=1).T @ x,
    "transposed columns with a column": lambda x: np.stack([x, 2 * x], axis=1).T @ x[:, None],
    "a product with a factor and an addend": lambda x: 2 * (np.stack([x, 3 * x], axis=1).T @ x) + np.ones(2, x.dtype),
    "two rows with two columns": lambda x: np.stack([x, 2 * x]) @ np.stack([x, 3 * x], axis=1),
    "stacked rows with columns": lambda x: np.matmul(np.stack([x, 2 * x])[:, None], np.stack([x, 3 * x])[:, :, None]),
    "a stack with a vector": lambda x: np.stack([np.stack([x, 2 * x]), np.stack([3 * x, x])]) @ x,
    "an einsum over pairs": lambda x: np.einsum("bi,bi->b", np.stack([x, 2 * x]), np.stack([x, 3 * x])),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("count", [60_000, 59_999, "N"])
def test_a_product_over_many_terms_keeps_its_digits(name: str, count: Any) -> None:
    x = np.full(count if isinstance(count, int) else 59_999, 0.1, np.float32)
    made = ps.trace(PRODUCTS[name], ps.spec("float32", [count]))(x)
    np.testing.assert_allclose(made, PRODUCTS[name](x.astype(float)), rtol=1e-5)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_few_terms_of_a_symbolic_size_give_the_product(name: str, count: int) -> None:
    x = np.arange(1, count + 1, dtype=np.float32)
    made = ps.trace(PRODUCTS[name], ps.spec("float32", ["N"]))(x)
    np.testing.assert_allclose(made, PRODUCTS[name](x), rtol=1e-6)


def test_the_gradient_of_a_linear_fit_to_a_batch_of_a_symbolic_size_keeps_its_digits() -> None:
    x = np.full((100_003, 2), 0.1, np.float32)
    fit = ps.split(lambda w, x: np.mean((x @ w) ** 2), np.float32([1, 2]), ps.spec("float32", ["N", 2]), wrt=0)
    tenth = float(x[0, 0])
    np.testing.assert_allclose(fit.joint()(np.float32([1, 2]), x)[1], np.full(2, 6 * tenth**2), rtol=1e-5)
