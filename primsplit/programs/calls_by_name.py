"""Find the names and paths that code calls, such as `np.random.rand`, and their values, without running anything."""

import builtins
import dis
import functools
import importlib
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from primsplit.ir.caching.held import content

GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
CLOSED = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
LOCAL = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"})
SKIPPED = frozenset({"PUSH_NULL", "PRECALL", "CACHE", "NOP", "NOT_TAKEN"})


class Chain(NamedTuple):
    """A path that is loaded, and the constant or local variable that the next instruction loads.

    `root` is its first name, and `kind` where that is looked up: "global", "closed" or "local". `given` is () for a
    call without arguments, (x,) if the first argument is the constant x, None for anything else.
    """

    kind: str
    root: str
    path: tuple[str, ...]
    given: tuple[Any, ...] | None
    line: int
    column: int

    @property
    def text(self) -> str:
        """The path as it is written."""
        return ".".join((self.root, *self.path))


@functools.lru_cache(maxsize=4096)
def chains(code: CodeType) -> tuple[Chain, ...]:
    """Return the paths that a code, but not the codes inside of it, loads and calls, or gives a name to."""
    listed = [*_instructions(code)]
    return tuple(_chains(listed))


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """Yield the instructions of a code. From Python 3.13 on, one may load or store two local variables: it is two."""
    for each in dis.get_instructions(code):
        parts = _OF_TWO.findall(each.opname)
        if len(parts) == 2:
            first, second = each.argval
            yield each._replace(opname=parts[0], argval=first)
            yield each._replace(opname=parts[1], argval=second, positions=None)  # it has the place of the first
        elif each.opname not in SKIPPED:
            yield each


_OF_TWO = re.compile(r"(?:LOAD|STORE)_FAST")


def _chains(listed: list[dis.Instruction]) -> Iterator[Chain]:
    position = 0
    while position < len(listed):
        first = listed[position]
        position += 1
        kind = next((k for k, names in _KINDS.items() if first.opname in names), None)
        if kind is None:
            continue
        path, begin = [], position
        while position < len(listed) and listed[position].opname in ATTRIBUTE:
            path.append(str(listed[position].argval))
            position += 1
        places = first.positions or (listed[begin].positions if path else None)
        if places is not None and places.lineno is not None:
            given = _given(listed[position : position + 2])
            yield Chain(kind, str(first.argval), tuple(path), given, places.lineno, places.col_offset or 0)


class Call(NamedTuple):
    """The arguments of a call as they are written: how many by position, and the constants by keyword, else UNKNOWN."""

    positional: int
    keywords: Mapping[str, Any]


UNKNOWN = object()


def call_of(code: CodeType, chain: Chain) -> Call | None:
    """Return the call of a chain of this code; None if it is not called there, or with `*args` or `**options`."""
    return _calls(code).get((chain.line, chain.column))


@functools.lru_cache(maxsize=4096)
def _calls(code: CodeType) -> Mapping[tuple[int, int], Call]:
    """Return the calls of a code by the place where each starts; of calls in a row, `f(x)(y)`, the first."""
    listed = [*_instructions(code)]
    found: dict[tuple[int, int], Call] = {}
    taken = set()
    for position, each in enumerate(listed):
        where = each.positions
        if where is None or where.lineno is None or not each.opname.startswith("CALL"):
            continue
        place = (where.lineno, where.col_offset or 0)
        if place not in taken and each.opname in {"CALL", "CALL_KW"}:
            found[place] = _call(code, listed[:position], each)
        taken.add(place)
    return found


def _call(code: CodeType, before: list[dis.Instruction], call: dis.Instruction) -> Call:
    is_named = call.opname == "CALL_KW" or before[-1].opname == "KW_NAMES"
    names: tuple[str, ...] = code.co_consts[before[-1].arg or 0] if is_named else ()  # dis tells no names in 3.11
    loaded = before[-1 - len(names) : -1] if names else []
    is_plain = all(i.opname.startswith("LOAD") for i in loaded)
    values = [i.argval if is_plain and i.opname == "LOAD_CONST" else UNKNOWN for i in loaded]
    return Call((call.arg or 0) - len(names), dict(zip(names, values, strict=True)))


_KINDS = {"global": GLOBAL, "closed": CLOSED, "local": LOCAL}


def _given(following: list[dis.Instruction]) -> tuple[Any, ...] | None:
    if following and following[0].opname == "CALL" and following[0].arg == 0:
        return ()
    if following and following[0].opname in {"LOAD_CONST", "RETURN_CONST", "LOAD_SMALL_INT"}:
        return (following[0].argval,)
    return None


@functools.lru_cache(maxsize=4096)
def attributes_of_results(code: CodeType) -> tuple[tuple[str, int], ...]:
    """Return the attributes that a code, but not the codes inside of it, loads of what a call returned.

    Each has its name and line: `rvs` of `scipy.stats.gamma(2).rvs()`.
    """
    listed = [*_instructions(code)]
    pairs = itertools.pairwise(listed)
    found = [each for before, each in pairs if before.opname.startswith("CALL") and each.opname in ATTRIBUTE]
    places = [(str(each.argval), each.positions) for each in found]
    return tuple((name, p.lineno) for name, p in places if p is not None and p.lineno is not None)


@functools.lru_cache(maxsize=4096)
def _imported(code: CodeType) -> Mapping[str, tuple[str, str]]:
    """Return the local variables that code imports: the module and the name in it, "" for the module itself."""
    found: dict[str, tuple[str, str]] = {}
    module, name, is_from, before = "", "", False, None
    for each in _instructions(code):
        if each.opname == "IMPORT_NAME":  # behind the names of a `from`, None for a plain import
            module, name, is_from = str(each.argval), "", before is not None
        elif each.opname == "IMPORT_FROM":
            name = str(each.argval)
        elif each.opname == "STORE_FAST" and module:
            is_whole = is_from or bool(name)  # `import a.b as c` takes `b` of `a` too
            found[str(each.argval)] = (module if is_whole else module.partition(".")[0], name if is_from else "")
            module, name = module if is_from else "", ""
        elif each.opname == "POP_TOP" and is_from:
            module = ""
        before = each.argval
    return found


def codes(function: FunctionType) -> Iterator[CodeType]:
    """Yield the code of a function, and those of the functions that it defines."""
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        yield code
        pending += [c for c in code.co_consts if isinstance(c, CodeType)]


def meanings(function: FunctionType, code: CodeType, reach: Callable[[Any, str], Any]) -> Iterator[tuple[Chain, Any]]:
    """Yield the paths of a code of this function, and their values by `reach`; None if unknown."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    imported = _imported(code)
    for chain in chains(code):
        value = None
        if chain.kind == "global":
            value = function.__globals__.get(chain.root, vars(builtins).get(chain.root))
        elif chain.kind == "closed" and chain.root in closed:
            value = content(closed[chain.root])
        elif chain.root in imported:
            module, name = imported[chain.root]
            value = sys.modules.get(module)
            value = vars(value).get(name) if name and isinstance(value, ModuleType) else value
        for attribute in chain.path:
            value = None if value is None else reach(value, attribute)
        yield chain, value


# Calls that are looked up by a text: getattr(random, "gauss")(), __import__("time").time().

CONSTANT = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
SMALL_MODULES = frozenset({"random", "secrets", "time", "uuid"})
"""Modules that are imported to look into them, which loads nothing else."""


class _Loaded(NamedTuple):
    """A value on the stack, None if it is unknown, as it is written, and whether a text led to it."""

    value: Any
    text: str
    is_looked_up: bool
    line: int
    column: int


def looked_up(function: FunctionType, code: CodeType, reach: Callable[[Any, str], Any]) -> Iterator[tuple[Chain, Any]]:
    """Yield the calls of a code of this function whose callee is looked up by a text, and that callee."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    stack: list[_Loaded] = []
    for each in _instructions(code):
        place = each.positions
        line, column = (0, 0) if place is None else (place.lineno or 0, place.col_offset or 0)
        if each.opname in GLOBAL:
            value = function.__globals__.get(each.argval, vars(builtins).get(each.argval))
            stack.append(_Loaded(value, str(each.argval), False, line, column))
        elif each.opname in CLOSED and each.argval in closed:
            stack.append(_Loaded(content(closed[each.argval]), str(each.argval), False, line, column))
        elif each.opname in CONSTANT:
            stack.append(_Loaded(each.argval, repr(each.argval), False, line, column))
        elif each.opname in ATTRIBUTE and stack:
            of = stack.pop()
            value = None if of.value is None else reach(of.value, each.argval)
            stack.append(of._replace(value=value, text=f"{of.text}.{each.argval}"))
        elif each.opname == "CALL" and len(stack) > (each.arg or 0):
            count = each.arg or 0
            arguments = [stack.pop() for _ in range(count)][::-1]
            callee = stack.pop()
            if callee.is_looked_up and callee.value is not None:
                given = (arguments[0].value,) if arguments else ()
                yield Chain("global", callee.text, (), given, callee.line, callee.column), callee.value
            found = _found(callee.value, [a.value for a in arguments], reach)
            text = f"{callee.text}({', '.join(a.text for a in arguments)})"
            stack.append(_Loaded(found, text, found is not None, callee.line, callee.column))
        elif each.opname.startswith("LOAD_FAST"):
            stack.append(_Loaded(None, str(each.argval), False, line, column))
        else:
            stack.clear()


def _found(callee: Any, arguments: list[Any], reach: Callable[[Any, str], Any]) -> Any:
    """Return what getattr, `__import__` or importlib.import_module of these arguments gives."""
    if callee is getattr and len(arguments) > 1 and isinstance(arguments[1], str):
        return None if arguments[0] is None else reach(arguments[0], arguments[1])
    if callee in (builtins.__import__, importlib.import_module) and isinstance(arguments[0], str):
        name = arguments[0]
        name = name.partition(".")[0] if callee is builtins.__import__ else name
        return importlib.import_module(name) if name in SMALL_MODULES else sys.modules.get(name)
    return None
