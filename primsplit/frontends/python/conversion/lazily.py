"""Finds `all` and `any` calls that may evaluate every element, because stopping early would make no difference."""

import ast
import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.harmless import (
    UNKNOWN,
    Callers,
    is_harmless,
    may_be_called,
    meaning,
    what_does_more,
)
from primsplit.frontends.python.conversion.statements import Effects, Refused, effects
from primsplit.frontends.python.conversion.stepping import parts_of_iterator
from primsplit.ir.parsing import parsed_text, undisturbed
from primsplit.tracing import is_library
from primsplit.tracing.array import Array
from primsplit.tracing.hooks import HOOKS

_HELD = frozenset({
    list, tuple, set, frozenset, dict, str, range, np.ndarray, Array,
    *map(type, ({}.keys(), {}.values(), {}.items())),
})  # fmt: skip
"""Containers, which can be iterated any number of times."""
_ITERATORS = frozenset(
    map(type, (iter([]), iter(()), iter(range(0)), reversed([]), iter(""), iter({}), iter(set()), iter(np.ones(1))))
)
_OF_PARTS: dict[Any, tuple[Any, ...]] = {map: (abs, []), filter: (abs, []), zip: ([],), enumerate: ([],)}
"""Kinds of iterators that consume other iterators, each with arguments of an example."""


def may_be_gone_through(values: Any, is_alone: bool) -> bool:
    """Whether all elements may be taken; `is_alone` says that nothing else holds an iterator over them."""
    return type(values) in _HELD or (is_alone and _only_computes(values))


HOOKS.may_exhaust = may_be_gone_through


def _only_computes(iterator: Any) -> bool:
    """Whether computing the elements of an iterator has no visible side effects."""
    if isinstance(iterator, types.GeneratorType):
        if is_library(iterator.gi_code.co_filename):
            return True
        return _is_quiet(iterator) and _holders(iterator) == [_ALONE] and _only_computes(_source(iterator))
    if type(iterator) in _OF_PARTS:
        is_alone = max(_holders(iterator), default=0) <= _ALONE_IN[type(iterator)]
        return is_alone and all(map(_is_quiet_part, parts_of_iterator(iterator)))
    return type(iterator) in _ITERATORS


def _source(generator: Any) -> Any:
    """Return the iterator that a generator expression consumes; None for other generators, and at its end."""
    return generator.gi_frame.f_locals.get(".0") if generator.gi_frame is not None else None


def _is_iterator(part: Any) -> bool:
    return hasattr(type(part), "__next__")


def _holders(iterator: Any) -> list[int]:
    """Return the reference count of each iterator that this one consumes, including the counting call's own."""
    if isinstance(iterator, types.GeneratorType):
        return [sys.getrefcount(_source(iterator))]
    return [sys.getrefcount(part) for part in parts_of_iterator(iterator) if _is_iterator(part)]


(_ALONE,) = _holders(_ for _ in [])
"""The reference count of the iterator of a generator expression that nothing else consumes."""
_ALONE_IN = {kind: max(_holders(kind(*given))) for kind, given in _OF_PARTS.items()}


def _is_quiet_part(part: Any) -> bool:
    """Whether an iterator, or a function that it calls for each element, only computes."""
    return _only_computes(part) if _is_iterator(part) else part is None or may_be_called(part, _STRICT)


_STRICT = Callers(is_strict=True, notes=False)


def _is_quiet(generator: Any) -> bool:
    """Whether a generator expression and the functions it calls only compute."""
    frame, code = generator.gi_frame, generator.gi_code
    if frame is None:
        return True
    names = frame.f_locals
    its_effects = _effects_of(code)

    def lookup(name: str) -> Any:
        is_own = its_effects is None or name in its_effects.inner or name in code.co_varnames
        return UNKNOWN if is_own else names.get(name, meaning(name, frame.f_globals))

    if its_effects is None or what_does_more(its_effects, lookup, _STRICT) is not None:
        return False
    return all(is_harmless(callee, lookup, _STRICT) for callee in its_effects.calls)


@functools.lru_cache(maxsize=4096)
def _effects_of(code: types.CodeType) -> Effects | None:
    """Return the effects of the generator expressions at the code's first line; None if they do more than compute."""
    try:
        whole = parsed_text("".join(undisturbed(lambda: inspect.findsource(code))[0]))
        nodes = [n for n in ast.walk(whole) if isinstance(n, ast.GeneratorExp) and n.lineno == code.co_firstlineno]
        return effects(map(_behind_its_source, nodes), is_noted=False) if nodes else None
    except (OSError, TypeError, SyntaxError, ValueError, Refused):
        return None


def _behind_its_source(node: ast.GeneratorExp) -> ast.GeneratorExp:
    """Return the expression without its first iterable, which was evaluated before."""
    first, *others = node.generators
    begun = ast.comprehension(first.target, ast.Tuple([], ast.Load()), first.ifs, first.is_async)
    return ast.GeneratorExp(node.elt, [begun, *others])
