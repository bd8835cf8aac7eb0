"""Every test runs with the result of every transform checked."""

from collections.abc import Iterator

import pytest

from primsplit.verify import checking


@pytest.fixture(autouse=True)
def _check_every_transform() -> Iterator[None]:
    with checking():
        yield
