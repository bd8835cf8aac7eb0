"""Name a function's arguments and results in a file: the parameters' own names, and paths inside them.

```
def f(params, x): ...   with params = {"w": ..., "b": ...}   ->   inputs params.b, params.w, x;  output y
```
"""

import inspect
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import Any

from primsplit.ir.names import kept_apart
from primsplit.programs.wholes import stem_of
from primsplit.tracing.functionlike import positional_names
from primsplit.tracing.trees import Parts, TreeSpec, paths, whole_leaves


def input_names(function: Callable[..., Any], spec: TreeSpec, last: str = "") -> list[str]:
    """Return a name for each leaf of `(args, kwargs)`: the parameter's name, then the path inside it.

    `last` is the name of the last positional argument if the function itself does not take it.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    given = spec.children()[0].num_children
    known, position = positional_names(function, given - bool(last)), given - 1 if last else None
    for path in paths(spec):
        kind, first, *rest = path if len(path) > 1 else (*path, "x")
        own = last if (kind, first) == (0, position) else first if kind == 1 else _parameter(parameters, known, first)
        names.append(".".join([own, *map(str, rest)]))
    return kept_apart(names)


def argument_names(spec: TreeSpec, names: Sequence[str | None], count: int | None) -> list[str]:
    """Return the name of each positional argument whose leaves are inputs of these names, without the paths inside it.

    In a call with fewer arguments, `count`, two inputs `z.real` and `z.imag` are one.
    """
    found = [""] * spec.children()[0].num_children
    for (kind, *path), name in zip(paths(spec), names, strict=True):
        if kind == 0 and name is not None:
            found[path[0]] = name.removesuffix("".join(f".{part}" for part in path[1:]))
    if count is None or count >= len(found):
        return found
    whole: list[str] = []
    for name in found:
        stem = stem_of(whole[-1], name) if whole else None
        whole[len(whole) - (stem is not None) :] = [stem or name]
    return whole


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a function has names for so many positional arguments."""
    return len(positional_names(function, count)) >= count


def _parameter(parameters: Sequence[inspect.Parameter], named: Sequence[str], position: int) -> str:
    if position < len(named):
        return named[position]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "x")
    return f"{variadic}.{position - len(named)}"


def output_names(spec: TreeSpec, taken: Sequence[str]) -> list[str]:
    """Return `y` for a single result, `y0, y1` for a tuple's, else the path inside the result.

    `result` if `y` is taken.

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
    """Return the name, or if an input has it, `result` instead, with a number if needed."""
    if name not in taken:
        return name
    stem = name.replace("y", "result", 1) if name.startswith("y") else f"{name}_result"
    return next(n for n in chain([stem], (f"{stem}_{i}" for i in count(1))) if n not in taken)
