"""Sizes have units; tables fit a terminal; what an encoding lacks is escaped, and nothing but answers is in a pipe."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from primsplit.cli import output
from primsplit.cli.output import size_text, table


def test_sizes_are_told_in_units() -> None:
    assert [size_text(n) for n in (999, 1000, 1_234_567)] == ["999 B", "1 kB", "1.23 MB"]


def test_a_table_in_a_narrow_terminal_breaks_the_columns_that_may_be_broken() -> None:
    name, test, note = "com.microsoft::QMoE", "definitions/test_standard.py", "a note that is as long as notes are"
    made = table(("operator", "status", "tested by", ""), [(name, "definition", test, note)], whole=("tested by",))
    out = Console(width=60)
    with out.capture() as captured:
        out.print(made)
    told = captured.get()
    assert test in told
    assert max(map(len, told.splitlines())) <= 60
    assert "note" in told


GREEK = """import numpy as np
def loss(θ, x):
    return np.sum(θ * x) ** 2  # größer als 😀
def example_inputs():
    return np.ones(3), np.arange(3.0)
"""


@pytest.fixture
def piped(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[bytes]"]:
    """The command line as a process of its own, in pipes of an encoding."""
    (tmp_path / "größe.py").write_text(GREEK, encoding="utf-8")

    def run(encoding: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        command = [sys.executable, "-m", "primsplit", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)

    return run


@pytest.mark.sweep(2)
@pytest.mark.parametrize("encoding", ["cp1252", pytest.param("ascii", marks=pytest.mark.slow), "utf-8"])
def test_what_an_encoding_has_no_character_for_is_escaped(piped: Callable[..., Any], encoding: str) -> None:
    shown = "d_θ" if encoding == "utf-8" else "d_\\u03b8"
    done = piped(encoding, "run", "größe.py")
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout.decode(encoding)


def test_in_json_and_html_it_is_escaped_as_they_do(piped: Callable[..., Any]) -> None:
    done = piped("cp1252", "run", "größe.py", "--json")
    assert [row["name"] for row in json.loads(done.stdout.decode("cp1252"))["outputs"]] == ["y", "d_θ", "d_x"]
    for encoding in ("ascii", "utf-8"):  # the data of a page are JSON in ASCII
        assert r"\u03b8" in piped(encoding, "audit", "größe.py", "--style", "html").stdout.decode(encoding)


def test_no_progress_is_shown_in_a_pipe(piped: Callable[..., Any]) -> None:
    done = piped("utf-8", "check", "größe.py")
    assert done.returncode == 0
    assert done.stderr == b""


@pytest.mark.parametrize("arguments", [("bench", "--runs", "2"), ("export",), ("audit",)])
def test_no_progress_is_shown_where_there_is_no_terminal(
    primsplit: Callable[..., Any],
    model: Callable[..., Path],
    tmp_path: Path,
    arguments: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = primsplit(arguments[0], model(GREEK.replace("😀", "so")), *arguments[1:])
    assert done.status == 0, done.error
    assert done.error == ""


def test_paragraphs_of_a_help_are_broken_by_the_terminal_alone(primsplit: Callable[..., Any]) -> None:
    told = primsplit("check", "--help").out
    lines = [line.strip() for line in told.splitlines()]
    assert not [line for line in lines if line == "is ok."]


def test_only_the_module_of_outputs_prints() -> None:
    """Output that another module prints would not be escaped: see `plain_text`."""
    for path in Path(output.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text())
        named = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert path.name == "output.py" or not named & {"print", "Console"}, path
