"""Finds the definition of a function in its source file, by its name, first line and columns."""

import ast
import itertools
import linecache
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from primsplit.ir.caching.limited import Recent

Node = ast.FunctionDef | ast.Lambda
Tree = TypeVar("Tree", bound=ast.AST)


class Definition(NamedTuple):
    """The node of a function. `private` is the class around it, by which Python mangles `__name`; "" if there is none.

    `imports` are the import statements of its module: Python compiles calls of imported names differently.
    """

    node: Node
    private: str
    imports: tuple[ast.stmt, ...] = ()


class SourceError(Exception):
    """The definition of a function cannot be read."""


def copied(node: Tree) -> Tree:
    """Return a copy of a syntax tree, three times faster than `copy.deepcopy`. A shared node is copied for each use."""
    new = type(node).__new__(type(node))
    parts = vars(new)
    for name, value in vars(node).items():
        if isinstance(value, list):
            parts[name] = [copied(each) if isinstance(each, ast.AST) else each for each in value]
        else:
            parts[name] = copied(value) if isinstance(value, ast.AST) else value
    return new


Index = Mapping[tuple[str, int], list[Definition]]
"""Definitions by name and first line; if several lambdas begin on one line, the outer ones stand first."""


class _Files(threading.local):
    """The definitions of files that were read, by file name and text."""

    def __init__(self) -> None:
        self.known: Recent[tuple[str, str], Index] = Recent(64)


_files = _Files()


def index_of(tree: ast.AST) -> dict[tuple[str, int], list[Definition]]:
    """Return the definitions in a tree."""
    definitions: dict[tuple[str, int], list[Definition]] = {}
    imports = tuple(_imports(tree))
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, private = pending.pop()
        if isinstance(node, Node):
            definitions.setdefault((name_of(node), first_line(node)), []).append(Definition(node, private, imports))
        inner = node.name if isinstance(node, ast.ClassDef) else private
        pending += [(child, inner) for child in reversed([*ast.iter_child_nodes(node)])]
    return definitions


def _imports(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the import statements that run when a module is loaded."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import) or (isinstance(child, ast.ImportFrom) and child.module != "__future__"):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler) and not isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _imports(child)


def name_of(node: Node) -> str:
    """Return the name of a function as its code object has it."""
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def first_line(node: Node) -> int:
    """Return the first line of a function, including its decorators."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


def text_of(filename: str, names: Mapping[str, Any] | None = None) -> str:
    """Return the source text of a file, a notebook cell, or the argument of `python -c`; "" if it is not available."""
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
    definition = matching(code, index.get((code.co_name, code.co_firstlineno), ()))
    if definition is None and code.co_filename == "<string>":  # `exec` of a text, in a program of `python -c`
        raise SourceError(f"the source of {function.__qualname__} (<string>) cannot be read")
    if definition is None:
        raise SourceError(
            f"the source of {function.__qualname__} is not at {code.co_filename}:{code.co_firstlineno} any more"
        )
    return definition


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
    """Whether the source of a file has a function that includes this line."""
    definitions = itertools.chain.from_iterable(_index_of_file(filename, text_of(filename)).values())
    return any(first_line(node) <= line <= _last(node)[0] for node, *_ in definitions)


def matching(code: types.CodeType, candidates: list[Definition] | tuple[()]) -> Definition | None:
    """Return the definition of a code object among those with its name and line; None if none matches."""
    candidates = [d for d in candidates if _parameters(d.node) == _parameters_of(code)]
    if len(candidates) > 1:  # lambdas on one line: the smallest that contains all instructions of the code
        spots = [*_spots(code)]
        around = [d for d in candidates if all(_is_inside(spot, d.node) for spot in spots)]
        candidates = sorted(
            around, key=lambda d: (_last(d.node)[0] - d.node.lineno, _last(d.node)[1] - d.node.col_offset)
        )
    return candidates[0] if candidates else None


def _parameters(node: Node) -> tuple[str, ...]:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return tuple(a.arg for a in (*named, *filter(None, (arguments.vararg, arguments.kwarg))))


def _parameters_of(code: types.CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:count]


def _spots(code: types.CodeType) -> Iterator[tuple[int, int]]:
    """Yield the start positions of the instructions of a code object."""
    for line, last_line, column, last_column in code.co_positions():
        if line is not None and column is not None and (line, column) != (last_line, last_column):
            yield line, column


def _last(node: Node) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _is_inside(spot: tuple[int, int], node: Node) -> bool:
    return (node.lineno, node.col_offset) <= spot <= _last(node)


def like(own: Definition, code: types.CodeType, index: Index) -> Definition | None:
    """Return the definition in a rewritten tree at the position of the user's own; None if there is none.

    The rewrite may wrap a lambda in another one at the same position: the innermost is the user's.
    """
    candidates = index.get((code.co_name, code.co_firstlineno), ())
    place = own.node.lineno, own.node.col_offset, *_last(own.node)
    there = [d for d in candidates if (d.node.lineno, d.node.col_offset, *_last(d.node)) == place]
    return next((d for d in reversed(there) if _parameters(d.node) == _parameters(own.node)), None)
