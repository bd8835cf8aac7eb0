"""Which outer variables a function only appends to or counts up, by its bytecode."""

import types
from collections import Counter, defaultdict

import pytest

from primsplit.ir.caching.noting import is_note, only_noted


def code_of(lines: str) -> types.CodeType:
    """The code of a function with this body."""
    module = compile(f"def f():\n    global n\n    {lines}", "user.py", "exec")
    (code,) = (const for const in module.co_consts if isinstance(const, types.CodeType))
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
    ],
)
def test_a_name_that_is_read_or_changed_otherwise_is_not(lines: str) -> None:
    assert "n" not in only_noted(code_of(lines))


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
