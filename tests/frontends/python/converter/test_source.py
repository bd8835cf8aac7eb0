"""The definition of a function in its source file: by name, first line and columns."""

import linecache
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from primsplit.frontends.python.converter.copies import (
    Conversion,
    Options,
    converted_code,
    is_converted,
)
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.converter.source import SourceError

USERS = OPERATORS[False]


def copy_of(function: Any) -> Any:
    return Conversion(OPERATORS, Options(serves=True)).copy(function)


def test_lambdas_on_one_line_are_told_apart() -> None:
    pair = (lambda x: x + 1.0, lambda x: x * 3.0), lambda x: lambda y: y - x
    (first, second), third = pair
    assert [copy_of(f)(2.0) for f in (first, second)] == [3.0, 6.0]
    assert copy_of(third)(2.0)(10.0) == 8.0
    assert is_converted(copy_of(second).__code__)


def with_source(source: str, name: str) -> dict[str, Any]:
    names: dict[str, Any] = {"np": np, "math": math, "__name__": "users_generated"}
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), names)
    return names


def test_equal_code_of_two_files_has_two_conversions() -> None:
    source = "def f(x):\n    return math.sin(x)\n"
    first, second = (with_source(source, name)["f"] for name in ("<first>", "<second>"))
    assert first.__code__ == second.__code__.replace(co_filename="<first>")
    made = [converted_code(f, USERS) for f in (first, second)]
    assert [c.co_filename for c in made] == ["<first>", "<second>"]
    assert converted_code(first, USERS) is made[0]


def test_a_source_that_changed_is_not_taken_for_the_functions() -> None:
    made = with_source("def f(x):\n    return math.sin(x)\n", "<changing>")["f"]
    text = "def f(x):\n    return math.cos(x)\n"
    linecache.cache["<changing>"] = len(text), None, text.splitlines(keepends=True), "<changing>"
    with pytest.raises(SourceError, match="has changed since it was loaded"):
        converted_code(made, USERS)


PROGRAM = """
import math
import numpy as np, primsplit as ps
TABLE = np.arange(4.0)
def f(x):
    total = 0.0
    for k in range(9):
        total = total + math.sin(x[k % 3]) if x[k % 3] > 0.1 * k else total * 0.5
    return total * TABLE[np.argmax(x)]
x = np.array([0.3, 1.7, -0.4])
assert abs(ps.trace(f, x)(x) - f(x)) < 1e-12
print("right")
"""


@pytest.mark.sweep(2)
@pytest.mark.parametrize("way", ["a file", "-c"])
def test_a_program_is_converted_wherever_its_source_is(way: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    given = [str(path)] if way == "a file" else ["-c", PROGRAM]
    done = subprocess.run([sys.executable, *given], capture_output=True, text=True, check=False)
    assert done.stdout == "right\n", done.stderr
