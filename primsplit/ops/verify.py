"""Check the result of every transform, in tests and with PRIMSPLIT_CHECK=1."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from primsplit.ir import Block
from primsplit.ops.inference import check_types


class Checking:
    """Whether `verified` checks its blocks."""

    on = os.environ.get("PRIMSPLIT_CHECK") == "1"


def verified(block: Block) -> Block:
    """Return the block; if checking is on, check its structure and types first. Raises PrimsplitError."""
    if Checking.on:
        check_types(block, closed=False)
    return block


@contextmanager
def checking() -> Iterator[None]:
    """Check every transform's result inside."""
    before, Checking.on = Checking.on, True
    try:
        yield
    finally:
        Checking.on = before
