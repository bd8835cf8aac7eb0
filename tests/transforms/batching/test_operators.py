"""Every operator of a batch of examples gives what it gives for each example."""

import pytest

from tests.rules.row import Row
from tests.transforms.batching.agreement import check_batch
from tests.transforms.batching.rows import FIRST, OTHERS


@pytest.mark.parametrize("row", FIRST, ids=str)
def test_a_batch_of_any_size_is_the_stack_of_its_examples(row: Row) -> None:
    check_batch(row)


@pytest.mark.slow
@pytest.mark.parametrize("row", OTHERS, ids=str)
def test_every_row_agrees(row: Row) -> None:
    check_batch(row)
