"""A plugin of pytest's that keeps the models of each test: `pytest -p tools.same.plugin`, SAME_FILES=FOLDER."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.same.sessions import kept_in


def name_of(test: str) -> str:
    """The name of a test's folder: that of its function, and a digest of function and row, wherever its file lies."""
    function = test.rsplit("::", 1)[-1]
    return f"{function.split('[')[0][:80]}_{hashlib.sha256(function.encode()).hexdigest()[:8]}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Run a test with what it loads kept."""
    with kept_in(Path(os.environ["SAME_FILES"]) / name_of(item.nodeid)):
        return (yield)
