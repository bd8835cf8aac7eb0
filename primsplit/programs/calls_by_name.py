"""Find the names and paths that code calls, such as `np.random.rand`, and their values, without running anything."""

import builtins
import dis
import functools
import importlib
import itertools
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodWrapperType, ModuleType
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
    return tuple(_chains(_instructions(code)))


@functools.lru_cache(maxsize=1024)
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Return the instructions of a code. From Python 3.13 on, one may load or store two local variables: it is two."""
    return tuple(_of_one_variable(code))


def _of_one_variable(code: CodeType) -> Iterator[dis.Instruction]:
    for each in dis.get_instructions(code):
        parts = _OF_TWO.findall(each.opname)
        if len(parts) == 2:
            first, second = each.argval
            yield each._replace(opname=parts[0], argval=first)
            yield each._replace(opname=parts[1], argval=second, positions=None)  # it has the place of the first
        elif each.opname not in SKIPPED:
            yield each


_OF_TWO = re.compile(r"(?:LOAD|STORE)_FAST")


def _chains(listed: Sequence[dis.Instruction]) -> Iterator[Chain]:
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
    listed = _instructions(code)
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


def _call(code: CodeType, before: Sequence[dis.Instruction], call: dis.Instruction) -> Call:
    is_named = call.opname == "CALL_KW" or before[-1].opname == "KW_NAMES"
    names: tuple[str, ...] = code.co_consts[before[-1].arg or 0] if is_named else ()  # dis tells no names in 3.11
    loaded = before[-1 - len(names) : -1] if names else ()
    is_plain = all(i.opname.startswith("LOAD") for i in loaded)
    values = [i.argval if is_plain and i.opname == "LOAD_CONST" else UNKNOWN for i in loaded]
    return Call((call.arg or 0) - len(names), dict(zip(names, values, strict=True)))


_KINDS = {"global": GLOBAL, "closed": CLOSED, "local": LOCAL}


def _given(following: Sequence[dis.Instruction]) -> tuple[Any, ...] | None:
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
    pairs = itertools.pairwise(_instructions(code))
    found = [each for before, each in pairs if before.opname.startswith("CALL") and each.opname in ATTRIBUTE]
    places = [(str(each.argval), each.positions) for each in found]
    return tuple((name, p.lineno) for name, p in places if p is not None and p.lineno is not None)


@functools.lru_cache(maxsize=4096)
def texts(code: CodeType) -> tuple[tuple[str | bytes, int], ...]:
    """Return the constant texts that a code, but not the codes inside of it, loads, each with its line."""
    found = [(i.argval, i.positions) for i in _instructions(code) if i.opname in {"LOAD_CONST", "RETURN_CONST"}]
    return tuple((v, p.lineno) for v, p in found if isinstance(v, str | bytes) and p is not None and p.lineno)


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
    imported, defaults = _imported(code), _defaults(function) if code is function.__code__ else {}
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
        elif chain.kind == "local":
            value = defaults.get(chain.root)
        for attribute in chain.path:
            value = _attribute(value, attribute, reach)
        yield chain, value


def _defaults(function: FunctionType) -> Mapping[str, Any]:
    """Return the defaults of the parameters that the function gives no other value."""
    code, given = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = {**dict(zip(names[len(names) - len(given) :], given, strict=True)), **(function.__kwdefaults__ or {})}
    stored = (
        {i.argval for i in _instructions(code) if i.opname.startswith(("STORE_FAST", "DELETE_FAST"))} if found else ()
    )
    return {name: value for name, value in found.items() if name not in stored}


# What is looked up by a text or a number: getattr(random, "gauss")(), vars(time)["time"](), TABLE[0]().

CONSTANT = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
SMALL_MODULES = frozenset({"random", "secrets", "time", "uuid"})
"""Modules that are imported to look into them, which loads nothing else."""
TABLES = frozenset({dict, list, tuple, set, frozenset, MappingProxyType})
ITERATING = frozenset({"GET_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND"})
ITERATORS = (enumerate, filter, functools.reduce, iter, list, map, reversed, tuple, zip)
"""Callables that go over the items of a table that they are given, as the instructions `ITERATING` do."""
VIEWS = frozenset({"items", "values"})
"""The methods of a dictionary whose result is gone over as the dictionary's values are."""


class _Loaded(NamedTuple):
    """A value on the stack, None if it is unknown, as it is written, and whether a text led to it."""

    value: Any
    text: str
    is_looked_up: bool
    line: int
    column: int

    def told(self, given: tuple[Any, ...] | None) -> Iterator[tuple[Chain, Any]]:
        """Yield a path of one name and the value, if that is known."""
        if self.value is not None:
            yield Chain("global", self.text, (), given, self.line, self.column), self.value

    def items(self) -> Iterator[tuple[Chain, Any]]:
        """Yield what can be called among the items of a table, for code that goes over all of them."""
        if type(self.value) in TABLES:
            values = self.value.values() if isinstance(self.value, Mapping) else self.value
            chain = Chain("global", f"an item of {self.text}", (), None, self.line, self.column)
            yield from ((chain, item) for item in [*values] if callable(item))

    def called_with(self, arguments: Sequence["_Loaded"]) -> Iterator[tuple[Chain, Any]]:
        """Yield what may be called in a call of the value: itself, or the items of a table that it goes over."""
        if any(self.value is each for each in ITERATORS):
            yield from (item for argument in arguments for item in argument.items())
        if self.is_looked_up:
            yield from self.told((arguments[0].value,) if arguments else ())


def _result(
    function: FunctionType, callee: _Loaded, arguments: Sequence[_Loaded], reach: Callable[[Any, str], Any]
) -> _Loaded:
    """Return the result of a call, known where the call looks up an attribute or an item."""
    found = _found(function, callee.value, [a.value for a in arguments], reach)
    text = f"{callee.text}({', '.join(a.text for a in arguments)})"
    return _Loaded(found, text, found is not None, callee.line, callee.column)


def looked_up(function: FunctionType, code: CodeType, reach: Callable[[Any, str], Any]) -> Iterator[tuple[Chain, Any]]:
    """Yield what a code of this function looks up by a text or an index, and calls of it, each with its value."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    stack: list[_Loaded] = []
    for each in _instructions(code):
        loaded = _loaded(function, closed, each)
        if loaded is not None:
            stack.append(loaded)
        elif each.opname in ATTRIBUTE and stack:
            of = stack.pop()
            stack.append(of._replace(value=_attribute(of.value, each.argval, reach), text=f"{of.text}.{each.argval}"))
        elif (each.opname == "BINARY_SUBSCR" or each.argrepr == "[]") and len(stack) > 1:
            key, of = stack.pop(), stack.pop()
            item = of._replace(value=_item(of.value, key.value), text=f"{of.text}[{key.text}]", is_looked_up=True)
            stack.append(item)
            yield from item.told(None)
        elif each.opname == "CALL" and len(stack) > (each.arg or 0):
            arguments = [stack.pop() for _ in range(each.arg or 0)][::-1]
            callee = stack.pop()
            yield from callee.called_with(arguments)
            result = _result(function, callee, arguments, reach)
            stack.append(result)
            yield from result.told(None)
        elif each.opname == "MAKE_FUNCTION" and stack:
            stack.append(stack.pop()._replace(value=None))
        else:
            if each.opname in ITERATING and stack:
                yield from stack[-1].items()
            stack.clear()


def _loaded(function: FunctionType, closed: Mapping[str, Any], each: dis.Instruction) -> _Loaded | None:
    """Return the value that an instruction loads by a name or as a constant; None for any other instruction."""
    value, text = None, str(each.argval)
    if each.opname in GLOBAL:
        value = function.__globals__.get(each.argval, vars(builtins).get(each.argval))
    elif each.opname in CLOSED and each.argval in closed:
        value = content(closed[each.argval])
    elif each.opname in CONSTANT:
        value, text = each.argval, repr(each.argval)
    elif not each.opname.startswith("LOAD_FAST"):
        return None
    place = each.positions
    line, column = (0, 0) if place is None else (place.lineno or 0, place.col_offset or 0)
    return _Loaded(value, text, False, line, column)


def _attribute(of: Any, name: str, reach: Callable[[Any, str], Any]) -> Any:
    """Return an attribute by `reach`; the names of a module by `__dict__`, and a function by `__call__`."""
    if name == "__dict__" and isinstance(of, ModuleType):
        return vars(of)
    if name == "__call__" and isinstance(of, FunctionType | BuiltinFunctionType):
        return of
    if name == "__getattribute__" and type(of) is ModuleType:
        return of.__getattribute__
    if type(of) in {dict, list, tuple, MappingProxyType} and name in {"get", "__getitem__", *VIEWS}:
        return getattr(of, name, None)
    return None if of is None else reach(of, name)


def _item(of: Any, key: Any) -> Any:
    """Return an item of a dictionary, list or tuple, which runs no user code; None if there is none."""
    is_plain = isinstance(key, str | int) and type(of) in {dict, list, tuple, MappingProxyType}
    try:
        return of[key] if is_plain else None
    except (KeyError, IndexError, TypeError):
        return None


GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)


def _found(function: FunctionType, callee: Any, arguments: list[Any], reach: Callable[[Any, str], Any]) -> Any:
    """Return what a function that looks up, such as getattr, vars or attrgetter, gives for these arguments."""
    if type(callee) in GETTERS and len(arguments) == 1:
        return _got(callee, arguments[0], reach)
    if callee is globals and not arguments:
        return function.__globals__
    first = arguments[0] if arguments else None
    if callee is vars and isinstance(first, ModuleType):
        return vars(first)
    is_getattr = callee is getattr or callee is object.__dict__["__getattribute__"]
    name = arguments[1] if is_getattr and len(arguments) > 1 else None
    if isinstance(name, str):
        return _attribute(first, name, reach)
    if callee is operator.getitem and len(arguments) > 1:
        return _item(first, arguments[1])
    of = getattr(callee, "__self__", None) if type(callee) in {BuiltinFunctionType, MethodWrapperType} else None
    if callee is not None and of is not None and of is not builtins:
        return _by_method(of, callee.__name__, first, reach)
    if isinstance(first, str) and (callee is builtins.__import__ or callee is importlib.import_module):
        name = first.partition(".")[0] if callee is builtins.__import__ else first
        return importlib.import_module(name) if name in SMALL_MODULES else sys.modules.get(name)
    is_getter = any(callee is kind for kind in GETTERS) and len(arguments) == 1
    return callee(first) if is_getter and isinstance(first, str | int) else None


def _by_method(of: Any, name: str, key: Any, reach: Callable[[Any, str], Any]) -> Any:
    """Return what a method of a table or a module looks up."""
    if name == "__getattribute__" and isinstance(key, str):
        return _attribute(of, key, reach)
    return of if name in VIEWS and type(of) is dict else _item(of, key)


def _got(getter: Any, of: Any, reach: Callable[[Any, str], Any]) -> Any:
    """Return what an attrgetter, itemgetter or methodcaller of one name looks up; it is not called."""
    kind, (name, *others), *_ = getter.__reduce__()
    if others:
        return None
    if kind is operator.itemgetter:
        return _item(of, name)
    return functools.reduce(lambda value, part: _attribute(value, part, reach), name.split("."), of)
