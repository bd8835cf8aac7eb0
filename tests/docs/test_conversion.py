"""docs/conversion.md: each row is tried, and each entry of the converter's tables has a row."""

import ast
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.python.conversion.statements import REASONS
from primsplit.frontends.python.converter.transformer import BINARY, COMPARISONS, UNARY
from primsplit.frontends.python.overrides.builtin import BUILTINS
from primsplit.frontends.python.overrides.number_types import CALLED
from primsplit.frontends.python.overrides.refused import REFUSED
from primsplit.tracing.branching import paths
from tools.conversion import KEPT_APART, OPERATORS, SEARCHES, SECTIONS, SUBSTITUTES
from tools.conversion.apart import APART
from tools.conversion.rows import Row, Section
from tools.conversion.starting import COMMANDS, PROGRAM, Command

ROWS = {f"{row.example.__module__.split('.')[-1]}.{row.example.__name__}": row for s in SECTIONS for row in s.rows}
SERVED = [name for name, row in ROWS.items() if not row.refused]
STEP = 1e-6
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@pytest.fixture(autouse=True)
def fewer_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let functions of too many paths be refused early: what the error says is the same."""
    monkeypatch.setattr(paths, "MOST", 100)


def test_each_example_stands_in_one_row() -> None:
    assert len(ROWS) == sum(len(section.rows) for section in SECTIONS) > 150


@pytest.mark.parametrize("name", SERVED)
def test_what_is_served_gives_what_python_gives(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    row = ROWS[name]
    function = row.function
    program = _traced(row, function)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == len({*told}), "a text is printed once"
    assert [op.kind for op in program.block.ops].count("If") == row.ifs
    for at in row.at[1:] if row.fails else row.at:
        found, expected = program(at), function(at)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert np.shape(found) == np.shape(expected)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", [name for name in SERVED if ROWS[name].smooth])
def test_what_is_served_has_the_derivative_of_central_differences(name: str) -> None:
    row = ROWS[name]
    function = row.function
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = ps.grad(function)
        for at in row.at[1:] if row.fails else row.at:
            np.testing.assert_allclose(gradient(at), _slopes(function, at), rtol=1e-5, atol=1e-7)


def _slopes(function: Any, at: Any) -> Any:
    """The derivative by central differences."""
    if isinstance(at, float):
        return (function(at + STEP) - function(at - STEP)) / (2 * STEP)
    steps = STEP * np.eye(at.size).reshape(at.size, *at.shape)
    return np.reshape([(function(at + s) - function(at - s)) / (2 * STEP) for s in steps], at.shape)


def _traced(row: Row, function: Any) -> Any:
    """The program of a row's function, which warns of what the row says."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        program = ps.trace(function, row.at[0])
    assert {w.category.__name__ for w in caught} == ({row.warns} if row.warns else set())
    return program


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.fails])
def test_a_path_that_fails_makes_the_run_fail(name: str) -> None:
    row = ROWS[name]
    with pytest.raises((ValueError, AssertionError, UnboundLocalError)) as plain:
        row.function(row.at[0])
    with pytest.raises(ps.errors.RunError) as caught:
        ps.trace(row.function, row.at[0])(row.at[0])
    assert str(caught.value).startswith(row.fails)
    assert isinstance(caught.value, plain.type)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.refused])
@pytest.mark.filterwarnings("ignore")
def test_what_is_refused_says_why_in_its_first_line(name: str) -> None:
    row = ROWS[name]
    with pytest.raises(ps.PrimsplitError) as caught:
        ps.trace(row.function, row.at[0])
    first, *_ = str(caught.value).splitlines()
    assert re.sub(r"line \d+", "line N", first).startswith(row.refused)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.changes])
def test_a_trace_changes_what_one_call_changes(name: str) -> None:
    row = ROWS[name]
    assert row.changes is not None
    before = row.changes()
    row.function(row.at[0])
    after_a_call = row.changes()
    ps.trace(row.function, row.at[0])
    assert row.changes() - after_a_call == after_a_call - before > 0


@pytest.mark.parametrize("way", COMMANDS, ids=[way.construct for way in COMMANDS])
def test_a_program_is_converted_however_it_is_started(way: Command, tmp_path: Path) -> None:
    if (way.until and sys.version_info >= way.until) or sys.version_info < way.since:
        pytest.skip("of another version of Python")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    arguments = [{"PATH": str(path), "PROGRAM": PROGRAM}.get(given, given) for given in way.arguments]
    typed = PROGRAM if way.typed else ""
    done = subprocess.run([sys.executable, *arguments], input=typed, capture_output=True, text=True, check=False)
    if way.refused:
        assert way.refused in done.stderr
    assert ("[2.0, 1.0, 3.0]" in done.stdout) is not bool(way.refused), done.stderr


def test_each_operator_of_a_copy_has_an_example() -> None:
    assert _kinds([OPERATORS]) >= {*BINARY, *UNARY, *COMPARISONS}


def test_each_statement_of_python_has_an_example() -> None:
    in_coroutines = {ast.AsyncFor, ast.AsyncWith}
    kinds = {kind for kind in ast.stmt.__subclasses__() if kind.__module__ == "ast" and kind.__name__ != "TypeAlias"}
    assert _kinds(SECTIONS) >= kinds - in_coroutines


def test_each_reason_why_a_branch_stays_apart_has_an_example() -> None:
    told = {row.refused.removeprefix(APART) for row in KEPT_APART.rows if row.refused.startswith(APART)}
    assert [why for why in REASONS.values() if not why.startswith(tuple(told))] == []


def test_each_function_of_python_with_a_substitute_has_an_example() -> None:
    called = {n.func.id for n in _nodes([SUBSTITUTES]) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert called >= set(BUILTINS)


def test_each_function_of_scipy_that_says_why_it_is_refused_has_an_example() -> None:
    named = {f"`{module}.{name}`" for module, kinds in REFUSED.items() for names in kinds.values() for name in names}
    assert {row.construct for row in SEARCHES.rows} == named


@pytest.mark.parametrize("kind", CALLED, ids=lambda kind: kind.__name__)
def test_a_class_of_numpy_converts_a_traced_number(kind: Any) -> None:
    if kind in {np.matrix, np.asmatrix, np.bmat}:
        with pytest.raises(ps.errors.UnsupportedFunction, match=r"np.matrix has no form"):
            ps.trace(lambda x: kind([[x]]), 1.25)
    else:
        found = ps.trace(lambda x: kind(x), 1.25)(1.25)
        assert (found, found.dtype) == (kind(1.25), kind(1.25).dtype)


def _nodes(sections: Iterable[Section]) -> list[ast.AST]:
    """The syntax of the examples of some sections, and of what they call."""
    modules = {sys.modules[row.example.__module__] for section in sections for row in section.rows}
    functions = [n for m in modules for n in ast.parse(inspect.getsource(m)).body if isinstance(n, DEFINITIONS)]
    return [node for function in functions for node in ast.walk(function)]


def _kinds(sections: Iterable[Section]) -> set[type[ast.AST]]:
    return {type(node) for node in _nodes(sections)}
