"""Tables that modules fill, some of them when a key is missing."""

import sys
import threading
import time
from pathlib import Path

import pytest

from primsplit.ir.families import Table

FILLING = """
import time
from {table} import TABLE
TABLE["first"] = "first" in TABLE, "second" in TABLE
time.sleep(0.2)
TABLE["second"] = 2
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table[str, object]:
    """A table with one key that a module fills later."""
    name = f"a_table_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("from primsplit.ir.families import Table\nTABLE = Table()\nTABLE['own'] = 0\n")
    (tmp_path / f"filling_{name}.py").write_text(FILLING.format(table=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    made: Table[str, object] = __import__(name).TABLE
    made.import_later(f"filling_{name}")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return made


def test_a_key_that_is_there_imports_nothing(table: Table[str, object], tmp_path: Path) -> None:
    assert "own" in table
    assert table["own"] == table.get("own") == 0
    assert table.registered() == ["own"]
    assert f"filling_a_table_{tmp_path.name}" not in sys.modules


@pytest.mark.parametrize(
    "ask", [lambda t: t["second"], lambda t: t.get("second"), lambda t: dict(t)["second"], lambda t: {**t}["second"]]
)
def test_a_missing_key_imports_the_module_that_fills_it(ask: object, table: Table[str, object]) -> None:
    assert callable(ask)
    assert ask(table) == 2
    assert table["first"] == (False, False)  # as it asked while it was imported
    assert set(table) == {*table.registered()} == {"own", "first", "second"}
    assert len(table) == len(list(table.items())) == len(list(table.values())) == 3


def test_a_key_that_nobody_fills_is_a_key_error(table: Table[str, object]) -> None:
    with pytest.raises(KeyError):
        table["third"]
    assert "third" not in table
    assert table.get("third", 5) == 5


def test_other_threads_wait_until_a_table_is_whole(table: Table[str, object]) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(table["second"])) for _ in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    assert found == [2, 2, 2, 2]
