"""Which outer variables a function only appends to or counts up, by its source."""

import linecache
import types
from collections import Counter, defaultdict
from typing import Any

import pytest

from primsplit.ir.caching.noting import is_note, only_noted


def code_of(lines: str, shown: str | None = None) -> types.CodeType:
    """The code of a function with this body, whose file is shown with another one."""
    text, shown = (f"def f():\n    global n\n    {body}" for body in (lines, lines if shown is None else shown))
    name = f"<{lines}, shown as {shown}>"
    linecache.cache[name] = len(shown), None, shown.splitlines(keepends=True), name
    (code,) = (const for const in compile(text, name, "exec").co_consts if isinstance(const, types.CodeType))
    return code


@pytest.mark.parametrize(
    "lines",
    ["n.append(1)", "n['calls'] += 1", "n += 1", "n = n + 1", "return lambda: n.append(2)", "n.append(1); n.append(2)"],
)
def test_a_name_that_is_only_added_to_is_noted(lines: str) -> None:
    assert only_noted(code_of(lines)) == {"n"}


@pytest.mark.parametrize(
    "lines",
    [
        "n -= 1",
        "n.append(1); return len(n)",
        "return n.append",
        "n['calls'] *= 2",
        "n['calls'] -= 1",
        "return n['calls']",
        "n = m + 1",
        "n.extend([1])",
        "n += m",
        "n += 1; return f'{n}'",
        "n += 1; return [n for _ in range(3)]",
        "n += 1; return lambda: n",
        "m[n] += 1",
        "n += 1; n -= 1",
    ],
)
def test_a_name_that_is_read_or_changed_otherwise_is_not(lines: str) -> None:
    assert "n" not in only_noted(code_of(lines))


def test_no_variable_is_noted_where_the_source_is_not_that_of_the_code() -> None:
    assert only_noted(code_of("n -= 1", shown="n += 1")) == frozenset()
    names: dict[str, Any] = {}
    exec("def f():\n    global n\n    n += 1", names)
    assert only_noted(names["f"].__code__) == frozenset()


def test_an_outer_variable_of_a_function_is_noted_too() -> None:
    calls = 0

    def f() -> None:
        nonlocal calls
        calls += 1

    assert only_noted(f.__code__) == {"calls"}


def test_a_note_is_a_plain_list_counter_or_number() -> None:
    class Own(list[int]):
        def append(self, _: int) -> None:
            raise AssertionError

    for value in ([], {}, defaultdict(int), Counter(), 1, 1.0):
        assert is_note(value)
    for value in (Own(), (), "text", True, None):
        assert not is_note(value)
