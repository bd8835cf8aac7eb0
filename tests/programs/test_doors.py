"""Modules that are imported on first use: each is there, with what is taken from it."""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from primsplit.programs import doors


def imports_of(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)


FUNCTIONS = [f for f in vars(doors).values() if inspect.isfunction(f) and f.__module__ == doors.__name__]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_imported_late_is_there(function: Callable[..., Any]) -> None:
    for module, name in imports_of(function):
        held = importlib.import_module(module)
        assert hasattr(held, name) or importlib.import_module(f"{module}.{name}")


def test_functions_delay_their_imports() -> None:
    assert sum(1 for f in FUNCTIONS if any(imports_of(f))) >= 5
