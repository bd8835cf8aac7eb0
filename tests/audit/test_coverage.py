"""The table of tests says what is tested, and everything that is supported is in it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from primsplit.audit import coverage
from primsplit.audit.coverage import Row, name_rows, operator_rows
from tests.versions import since

ROOT = Path(__file__).parents[2]
CURE = "run `python -m tools.coverage_table`"


def _tests_of(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def _files() -> Iterator[tuple[str, set[str]]]:
    """Each file that the table names, with the tests that it names there."""
    named: dict[str, set[str]] = {}
    for rows in coverage.tested().values():
        for test in rows.values():
            path, name = test.split("::")[0], test.split("::")[-1]
            named.setdefault(path, set()).add(name)
    yield from named.items()


def test_every_test_that_the_table_names_is_there() -> None:
    assert [path for path, _ in _files() if not (ROOT / path).exists()] == [], CURE
    assert {path: lost for path, names in _files() if (lost := names - _tests_of(ROOT / path))} == {}, CURE


@since("numpy", "2.2", "the table has functions that it lacks")
def test_every_row_of_the_table_is_an_operator_or_function() -> None:
    assert set(coverage.tested()["operators"]) <= {row.name for row in operator_rows()}, CURE
    assert set(coverage.tested()["functions"]) <= {row.name for row in name_rows()}, CURE


OUTSIDE = {"Constant", "ImageDecoder", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"}
"""Operators that no program holds: constants are values of it, strings are none, and images have no kernel."""


def _untested(rows: list[Row]) -> list[str]:
    supported = {"rule", "partials", "no_gradient", "through_body", "definition", "loaded", "traced"}
    return [row.name for row in rows if row.status in supported and not row.tested]


def test_every_operator_with_a_rule_is_tested() -> None:
    assert sorted(set(_untested(operator_rows())) - OUTSIDE) == [], CURE


@since("numpy", "2.4", "it has functions that the table lacks")
def test_every_function_that_can_be_traced_is_tested() -> None:
    assert _untested(name_rows()) == [], CURE


def test_no_row_has_a_name_that_nobody_writes() -> None:
    names = [row.name for row in name_rows()]
    assert [name for name in names if name.split(".")[-1].startswith("_")] == []
    assert "scipy.special.zeta" in names
