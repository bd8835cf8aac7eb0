"""Folding of steps in programs that are small enough for tests."""

import pytest

from primsplit.rewrites.loops import repeats
from primsplit.rewrites.loops.repeats import fold_repeats
from primsplit.transforms.idioms import rewritten


def fold_small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for repeats in programs of 100 ops, also where they are differentiated."""
    monkeypatch.setattr(repeats, "LARGE", 100)
    monkeypatch.setattr(rewritten, "fold_repeats", fold_repeats)
