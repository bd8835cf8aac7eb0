"""Finds the definition of a function in the source of its file, by its name, its first line and its columns."""

import ast
import itertools
import linecache
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from primsplit.ir.caching.limited import Recent

Node = ast.FunctionDef | ast.Lambda


class Definition(NamedTuple):
    """The node of a function. `private` is the class around it, after which `__name` is named; "" for none.

    `imports` are the import statements of its module: Python compiles calls of what a module imports in a way of their
    own.
    """

    node: Node
    private: str
    imports: tuple[ast.stmt, ...] = ()


class SourceError(Exception):
    """The definition of a function cannot be read."""


Index = Mapping[tuple[str, int], list[Definition]]
"""Definitions by name and first line; several lambdas may begin on one line, the outer ones first."""


class _Files(threading.local):
    """The definitions of files that were read, by file name and text."""

    def __init__(self) -> None:
        self.known: Recent[tuple[str, str], Index] = Recent(64)


_files = _Files()


def index_of(tree: ast.AST) -> dict[tuple[str, int], list[Definition]]:
    """Return the definitions in a tree."""
    found: dict[tuple[str, int], list[Definition]] = {}
    imports = tuple(_imports(tree))
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, private = waiting.pop()
        if isinstance(node, Node):
            found.setdefault((name_of(node), first_line(node)), []).append(Definition(node, private, imports))
        inner = node.name if isinstance(node, ast.ClassDef) else private
        waiting += [(child, inner) for child in reversed([*ast.iter_child_nodes(node)])]
    return found


def _imports(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the import statements that run when a module is loaded."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import) or (isinstance(child, ast.ImportFrom) and child.module != "__future__"):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler) and not isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _imports(child)


def name_of(node: Node) -> str:
    """Return the name of a function as its code has it."""
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def first_line(node: Node) -> int:
    """Return the first line of a function, that of its decorators included."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


def text_of(filename: str, names: Mapping[str, Any] | None = None) -> str:
    """Return the text of a file, of a cell of a notebook or of what `python -c` was given; "" if it cannot be had."""
    lines = linecache.getlines(filename, dict(names) if names else None)
    if not lines and filename == "<string>" and "-c" in sys.orig_argv:
        return sys.orig_argv[sys.orig_argv.index("-c") + 1]
    return "".join(lines)


def definition_of(function: types.FunctionType) -> Definition:
    """Return the definition of a function. Raises SourceError if its source cannot be read."""
    code = function.__code__
    text = text_of(code.co_filename, function.__globals__)
    if not text:
        raise SourceError(f"the source of {function.__qualname__} ({code.co_filename}) cannot be read")
    index = _index_of_file(code.co_filename, text)
    found = matching(code, index.get((code.co_name, code.co_firstlineno), ()))
    if found is None and code.co_filename == "<string>":  # `exec` of a text, in a program of `python -c`
        raise SourceError(f"the source of {function.__qualname__} (<string>) cannot be read")
    if found is None:
        raise SourceError(
            f"the source of {function.__qualname__} is not at {code.co_filename}:{code.co_firstlineno} any more"
        )
    return found


def _index_of_file(filename: str, text: str) -> Index:
    index = _files.known.used((filename, text))
    if index is None:
        try:
            index = index_of(ast.parse(text, filename))
        except (SyntaxError, ValueError):
            index = {}
        _files.known[filename, text] = index
    return index


def is_in_source(filename: str, line: int) -> bool:
    """Whether a function that has this line is in the source of a file."""
    definitions = itertools.chain.from_iterable(_index_of_file(filename, text_of(filename)).values())
    return any(first_line(node) <= line <= _last(node)[0] for node, *_ in definitions)


def matching(code: types.CodeType, found: list[Definition] | tuple[()]) -> Definition | None:
    """Return the definition of a code object among those with its name and line; None if none is."""
    found = [d for d in found if _parameters(d.node) == _parameters_of(code)]
    if len(found) > 1:  # lambdas on one line: the smallest that all of the code's instructions are in
        spots = [*_spots(code)]
        around = [d for d in found if all(_is_inside(spot, d.node) for spot in spots)]
        found = sorted(around, key=lambda d: (_last(d.node)[0] - d.node.lineno, _last(d.node)[1] - d.node.col_offset))
    return found[0] if found else None


def _parameters(node: Node) -> tuple[str, ...]:
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return tuple(a.arg for a in (*named, *filter(None, (given.vararg, given.kwarg))))


def _parameters_of(code: types.CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:count]


def _spots(code: types.CodeType) -> Iterator[tuple[int, int]]:
    """Yield where the instructions of a code object begin."""
    for line, last_line, column, last_column in code.co_positions():
        if line is not None and column is not None and (line, column) != (last_line, last_column):
            yield line, column


def _last(node: Node) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _is_inside(spot: tuple[int, int], node: Node) -> bool:
    return (node.lineno, node.col_offset) <= spot <= _last(node)


def like(own: Definition, code: types.CodeType, index: Index) -> Definition | None:
    """Return the definition in a rewritten tree that is at the place of a user's own; None if there is none.

    What is written around a lambda may be one at the same place: the innermost is the user's.
    """
    found = index.get((code.co_name, code.co_firstlineno), ())
    place = own.node.lineno, own.node.col_offset, *_last(own.node)
    at = [d for d in found if (d.node.lineno, d.node.col_offset, *_last(d.node)) == place]
    return next((d for d in reversed(at) if _parameters(d.node) == _parameters(own.node)), None)
