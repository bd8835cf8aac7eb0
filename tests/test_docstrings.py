"""Every public name says what it is, and the examples in what it says are right."""

import ast
import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tools.house import modules

PUBLIC: dict[str, Any] = {name: getattr(ps, name) for name in ps.__all__}
PUBLIC |= {f"random.{name}": getattr(ps.random, name) for name in ps.random.__all__}
EXAMPLES = {
    name: found
    for name, value in PUBLIC.items()
    for found in [doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", {}, name, None, 0)]
    if found.examples
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name])
    assert text is not None
    assert len(text.split()) > 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_what_it_says(name: str) -> None:
    told: list[str] = []
    example = EXAMPLES[name]
    example.globs = {"np": np, "ps": ps}
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)


IN_PLAIN_WORDS = frozenset(
    {
        "audit",
        "cli",
        "frontends",
        "ir",
        "numpy",
        "onnx",
        "ops",
        "programs",
        "rewrites",
        "rules",
        "special",
        "targets",
        "testing",
        "tracing",
        "transforms",
    }
)
"""The rooms whose docstrings are written in plain words."""

TO_BE_REWRITTEN = "primsplit.frontends.python."
"""Only the docstrings of modules are in plain words there."""

LONGEST_SUMMARY = 120


def documented(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The functions, methods and classes of a module that have a docstring, by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield node.name, text


def is_sentence(summary: str) -> bool:
    """Whether a summary is one short sentence that is no question."""
    return summary.endswith(".") and len(summary) <= LONGEST_SUMMARY and not summary.startswith("What ")


@pytest.mark.parametrize("room", sorted(IN_PLAIN_WORDS))
def test_a_module_says_what_it_does_in_one_sentence_and_no_docstring_is_a_riddle(room: str) -> None:
    there = {m.name: m.tree() for m in modules() if m.room == room}
    assert there
    summaries = {module: (ast.get_docstring(tree) or "").partition("\n")[0] for module, tree in there.items()}
    assert {name: text for name, text in summaries.items() if not is_sentence(text)} == {}
    plain = {module: tree for module, tree in there.items() if not module.startswith(TO_BE_REWRITTEN)}
    riddles = [(m, name) for m, tree in plain.items() for name, text in documented(tree) if text.startswith("What ")]
    assert riddles == []
