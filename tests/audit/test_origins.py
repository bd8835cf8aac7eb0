"""Where a value comes from is read from the user's text."""

import ast
import datetime
import time

import pytest

from primsplit.audit.origins import is_clock, origin_in


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("x = np.random.default_rng(0).normal(size=3)", "draw"),
        ("x = rng.permutation(4)", "draw"),
        ("x = np.load('table.npy')['w']", "file"),
        ("x: Array = np.fromfile('table.bin')", "file"),
        ("y = (x := np.loadtxt('table.txt'))", "file"),
        ("x = np.linspace(0, 1, 3)", "computed"),
        ("y = np.load('table.npy')", "computed"),
        ("x = np.load('a.npy')\nx = np.ones(3)", "computed"),
    ],
)
def test_the_last_assignment_tells_the_origin(text: str, origin: str) -> None:
    assert origin_in([*ast.walk(ast.parse(text))], "x", 9) == origin


def test_an_assignment_behind_the_line_tells_nothing() -> None:
    assert origin_in([*ast.walk(ast.parse("\n\nx = np.load('a.npy')"))], "x", 2) == "computed"


def test_clocks_are_known() -> None:
    clocks = [time.time, time.perf_counter_ns, time.localtime, datetime.datetime.now, datetime.date.today]
    assert all(map(is_clock, clocks))
    assert not any(map(is_clock, [time.sleep, datetime.datetime.fromtimestamp, len, None]))
