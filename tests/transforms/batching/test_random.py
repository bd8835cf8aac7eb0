"""Random numbers in batches: each example has its own."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rules.row import Row
from tests.transforms.batching.agreement import check_batch
from tests.transforms.batching.rows import rows_of

X = np.random.default_rng(0).normal(size=(5, 3))


@pytest.mark.parametrize("size", [3, "B"])
@pytest.mark.parametrize(
    "noisy",
    [
        lambda x: op.RandomNormalLike(x),
        lambda x: op.RandomUniformLike(x) + 0 * x,
        lambda x: op.Bernoulli(x * 0 + 0.5),
        lambda x: op.Dropout(x + 1, np.float32(0.5), np.True_),
        lambda x: x * 0 + ps.random.normal(0.0, 1.0, (40,), seed=1),
        lambda x: x * 0 + ps.random.uniform(0.0, 1.0, x.shape),
        lambda x: ps.random.permutation(40),
        lambda x: ps.cond(
            np.float32(1) < ps.random.uniform(2.0, 3.0),
            lambda: ps.random.normal(0.0, 1.0, (40,), dtype=np.float32),
            lambda: x,
        ),
    ],
)
def test_each_example_has_random_numbers_of_its_own(noisy: Any, size: Any) -> None:
    program = ps.trace(ps.vmap(noisy), ps.spec("float32", [size, 40]))
    drawn = program(np.zeros((3, 40), np.float32))
    assert drawn.shape == (3, 40)
    assert not np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[1], drawn[2])


def test_what_is_drawn_outside_is_the_same_for_all_examples() -> None:
    def shifted(x: Any) -> Any:
        noise = ps.random.normal(0.0, 1.0, (3,))
        return ps.vmap(lambda v: v * 0 + noise)(x)

    found = ps.trace(shifted, X)(X)
    np.testing.assert_array_equal(found, np.stack([found[0]] * 5))


def test_samples_of_a_batch_of_distributions() -> None:
    logits = np.log(np.array([[[1e-9, 1.0]], [[1.0, 1e-9]]], np.float32))
    found = ps.vmap(lambda p: op.Multinomial(p, sample_size=5))(logits)
    np.testing.assert_array_equal(found, [[[1] * 5], [[0] * 5]])


@pytest.mark.parametrize("row", rows_of("random"))
def test_a_batch_of_known_draws_is_the_stack_of_its_examples(row: Row) -> None:
    check_batch(row)
