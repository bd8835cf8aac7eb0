"""Fixtures of the tests of checks."""

from collections.abc import Callable

import pytest

from primsplit.rules.table import RULES, Entry, Rule
from primsplit.tracing.registering import Epoch
from tests.testing.breaking import EPOCHS


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Rule], None]:
    """Puts a rule in the place of an operator's own."""

    def put(kind: str, rule: Rule) -> None:
        monkeypatch.setitem(RULES, kind, Entry(kind, "rule", rule, ""))
        monkeypatch.setattr(Epoch, "count", next(EPOCHS))

    return put
