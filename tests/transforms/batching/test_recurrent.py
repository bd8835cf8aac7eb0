"""Recurrent cells, batched: what they give for each example."""

import pytest

from tests.rules.row import Row
from tests.transforms.batching.agreement import check_batch
from tests.transforms.batching.rows import rows_of


@pytest.mark.sweep(3)
@pytest.mark.parametrize("row", rows_of("recurrent"))
def test_a_batch_of_any_size_is_the_stack_of_its_examples(row: Row) -> None:
    check_batch(row)
