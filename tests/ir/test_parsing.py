"""Parsing of Python source in several threads."""

import ast
import gc
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest

from primsplit.ir.definitions import text_of
from primsplit.ir.errors import Place
from primsplit.ir.parsing import parsed_text
from tests.threads import in_threads

TEXT = "def f(x):\n" + "".join(f"    y{i} = (x + {i}) * [x, x ** 2][{i} % 2]\n" for i in range(300))


class Cycle:
    """An object that only the collector frees, by code in Python: the thread may be switched there."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        for _ in range(20):
            pass


def test_threads_parse_at_the_same_time() -> None:
    expected = ast.dump(ast.parse(TEXT))
    found = []

    def work(_: int) -> None:
        for _ in range(5):
            cycles = [Cycle() for _ in range(50)]
            del cycles
            found.append(ast.dump(parsed_text(TEXT, "made.py")))

    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        in_threads(work, 4)
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
    assert found == [expected] * 20


def test_what_is_not_python_is_an_error_at_its_line() -> None:
    with pytest.raises(SyntaxError) as caught:
        parsed_text("x = 1\ny = = 2\n", "made.py")
    assert (caught.value.filename, caught.value.lineno) == ("made.py", 2)
    assert isinstance(parsed_text("x + 1", mode="eval"), ast.Expression)


class Cleared(dict[str, Any]):
    """A cache of lines that another thread clears each time that a file was found in it."""

    def __init__(self) -> None:
        super().__init__()
        self.often = 0

    def __contains__(self, name: object) -> bool:
        found = super().__contains__(name)
        if found:
            self.often += 1
            self.clear()
        return found


def test_source_is_read_while_another_thread_clears_the_cache_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made.py"
    path.write_text("x = 1\ny = 2\n")
    lines = Cleared()
    monkeypatch.setattr(linecache, "cache", lines)
    for _ in range(2):
        assert text_of(str(path)) == "x = 1\ny = 2\n"
        assert Place(str(path), 2, "made").source == "y = 2"
    assert lines.often > 1
