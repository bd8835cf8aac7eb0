"""Parsing of Python source in several threads."""

import ast
import gc
import sys

import pytest

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
        for _ in range(15):
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
    assert found == [expected] * 60


def test_what_is_not_python_is_an_error_at_its_line() -> None:
    with pytest.raises(SyntaxError) as caught:
        parsed_text("x = 1\ny = = 2\n", "made.py")
    assert (caught.value.filename, caught.value.lineno) == ("made.py", 2)
    assert isinstance(parsed_text("x + 1", mode="eval"), ast.Expression)
