"""The names that a function's arguments and results have in a file: the parameters' own, and paths inside them."""

import inspect
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

from primsplit.names import kept_apart
from primsplit.trees import Parts, TreeSpec, paths, whole_leaves


def input_names(function: Callable[..., Any], spec: TreeSpec, last: str = "") -> list[str]:
    """A name for each leaf of `(args, kwargs)`: the parameter's name, then the path inside it.

    `last` is the name of the last positional argument where the function does not take that itself.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    position = len(spec.children()[0].children()) - 1 if last else None
    for path in paths(spec):
        kind, first, *rest = path if len(path) > 1 else (*path, "x")
        own = last if (kind, first) == (0, position) else first if kind == 1 else _parameter(parameters, first)
        names.append(".".join([own, *map(str, rest)]))
    return kept_apart(names)


def takes(function: Callable[..., Any], count: int) -> bool:
    """True for a function with names for so many positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD} for p in parameters) >= count


def _parameter(parameters: Sequence[inspect.Parameter], position: int) -> str:
    named = [p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    if position < len(named):
        return named[position]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return f"{variadic}.{position - len(named)}"


def output_names(spec: TreeSpec, taken: Sequence[str]) -> list[str]:
    """`y` for a single result, `y0, y1` for a tuple's, else the path inside the result; `result` where `y` is taken.

    The two of a complex result `y` are `y.real` and `y.imag`.
    """
    first = ["y"] if spec.type is Parts else []
    named = [
        ".".join(first + [str(p) if isinstance(p, str) else f"y{p}" for p in path[:1]] + [str(p) for p in path[1:]])
        for path in paths(spec)
    ]
    names = [name or "y" for name in named]
    pairs = (mark for mark in whole_leaves(spec, names) if isinstance(mark, Parts))
    held = {*taken, *(name for pair in pairs if {pair.real, pair.imag} & {*taken} for name in (pair.real, pair.imag))}
    return [_free_name(name, {*held, *names[:i]}) for i, name in enumerate(names)]


def _free_name(name: str, taken: set[str]) -> str:
    """The name, or where an input has it, `result` in its place and a number if need be."""
    if name not in taken:
        return name
    stem = name.replace("y", "result", 1) if name.startswith("y") else f"{name}_result"
    return next(n for n in chain([stem], (f"{stem}_{i}" for i in count(1))) if n not in taken)
