"""Find the definition of a code object in its source file, by its name, first line and columns.

pair = lambda x: x, lambda x: 2 * x      # definition_in(pair[1].__code__).node is the second Lambda
"""

import ast
import functools
import linecache
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from primsplit.ir.caching.limited import Recent
from primsplit.ir.parsing import parsed_text, undisturbed

Node = ast.FunctionDef | ast.Lambda
Answer = TypeVar("Answer")
Tree = TypeVar("Tree", bound=ast.AST)


class Definition(NamedTuple):
    """The node of a function. `private` is the class around it, by which Python mangles `__name`; "" if there is none.

    `imports` are the import statements of its module: Python compiles calls of imported names differently.
    """

    node: Node
    private: str
    imports: tuple[ast.stmt, ...] = ()


Index = Mapping[tuple[str, int], list[Definition]]
"""Definitions by name and first line; if several lambdas begin on one line, the outer ones stand first."""


class File(NamedTuple):
    """The syntax tree of a file, which nobody changes, and its definitions."""

    tree: ast.Module
    definitions: Index


class _Files(threading.local):
    """The files that were read, by their name and text."""

    def __init__(self) -> None:
        self.known: Recent[tuple[str, str], File] = Recent(64)


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
    lines = undisturbed(lambda: linecache.getlines(filename, dict(names) if names else None))
    if not lines and filename == "<string>" and "-c" in sys.orig_argv:
        return sys.orig_argv[sys.orig_argv.index("-c") + 1]
    return "".join(lines)


def parsed(filename: str, text: str) -> File:
    """Return the tree and the definitions of a file; a file without them if the text is not Python."""
    file = _files.known.used((filename, text))
    if file is None:
        try:
            tree = parsed_text(text, filename)
        except (SyntaxError, ValueError):
            tree = ast.Module([], [])
        file = _files.known[filename, text] = File(tree, index_of(tree))
    return file


def by_code(find: Callable[[types.CodeType], Answer]) -> Callable[[types.CodeType], Answer]:
    """Keep the answers of a function of a code object by its identity: equal codes of two files have two sources."""
    known: dict[int, tuple[weakref.ref[types.CodeType], Answer]] = {}

    @functools.wraps(find)
    def found(code: types.CodeType) -> Answer:
        key = id(code)
        entry = known.get(key)
        if entry is None or entry[0]() is not code:
            entry = known[key] = weakref.ref(code, lambda _: known.pop(key, None)), find(code)
        return entry[1]

    return found


@by_code
def file_of(code: types.CodeType) -> File:
    """Return the file of a code object as it is read first."""
    return parsed(code.co_filename, text_of(code.co_filename))


@by_code
def definition_in(code: types.CodeType) -> Definition | None:
    """Return the definition of a code object; None if it has none, or if its source cannot be read."""
    return matching(code, file_of(code).definitions.get((code.co_name, code.co_firstlineno), ()))


def matching(code: types.CodeType, candidates: list[Definition] | tuple[()]) -> Definition | None:
    """Return the definition of a code object among those with its name and line; None if none matches."""
    candidates = [d for d in candidates if parameters(d.node) == _parameters_of(code)]
    if len(candidates) > 1:  # lambdas on one line: the smallest that contains all instructions of the code
        spots = [*_spots(code)]
        around = [d for d in candidates if all(_is_inside(spot, d.node) for spot in spots)]
        candidates = sorted(
            around, key=lambda d: (last_of(d.node)[0] - d.node.lineno, last_of(d.node)[1] - d.node.col_offset)
        )
    return candidates[0] if candidates else None


def parameters(node: Node) -> tuple[str, ...]:
    """Return the names of the parameters of a definition."""
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


def last_of(node: Node) -> tuple[int, int]:
    """Return the last line and the column where a definition ends."""
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _is_inside(spot: tuple[int, int], node: Node) -> bool:
    return (node.lineno, node.col_offset) <= spot <= last_of(node)


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
