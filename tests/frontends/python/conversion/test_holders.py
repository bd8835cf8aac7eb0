"""Lists, arrays and objects that statements can reach from the names they read."""

from types import ModuleType

import numpy as np
import pytest

from primsplit.frontends.python.conversion import holders
from primsplit.frontends.python.conversion.holders import held, reached, seen


def test_the_numbers_of_a_table_are_not_looked_at_one_by_one() -> None:
    array = np.zeros(3)
    table = {"numbers": [float(k) for k in range(1000)], "more": [array, 1, "text"]}
    assert len([*reached([table], held)]) == 4
    assert any(part is array for part in reached([table], held))


def test_a_module_is_read_while_another_thread_sets_names_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("of_users")
    own = holders._is_pythons

    def with_another_thread(name: str) -> bool:
        vars(module)[f"{name}_of_another_thread"] = [name]
        return own(name)

    monkeypatch.setattr(holders, "_is_pythons", with_another_thread)
    vars(module).update(first=[1], second=[2])
    found = seen(module)
    assert [1] in found
    assert [2] in found
