"""Lists the values frozen into a trace: what the traced functions read from elsewhere than their arguments.

A later change of such a value does not change the exported file; therefore they are listed.
"""

import ast
import dataclasses
import datetime
import hashlib
import inspect
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.audit.assigned import origin_behind
from primsplit.audit.origins import URGENT, Origin, is_clock, literals, origin_in
from primsplit.ir import Block, Const, Type, walk
from primsplit.ir.errors import Place
from primsplit.ir.parsing import parsed_text
from primsplit.programs.binding import ARRAY
from primsplit.programs.labels import input_names
from primsplit.programs.program import Program
from primsplit.tracing import is_library

Scope = Mapping[str, Any]
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Frozen:
    """One frozen value: its name in the program ("" without one), a line that reads it, and where it comes from.

    `digest` is the beginning of the SHA-256 of an array's bytes, `numbers` the elements of one that is not long.
    """

    name: str
    type: str
    size: int
    place: Place | None
    value: str
    origin: Origin = ""
    digest: str = ""
    numbers: tuple[Any, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The value as a dict for JSON."""
        place = self.place
        where = {} if place is None else {"file": place.filename, "line": place.line, "source": place.source}
        told = {"name": self.name, "origin": self.origin, "type": self.type, "bytes": self.size, "value": self.value}
        return {**told, "digest": self.digest, **where}


def frozen_values(program: Program, function: Callable[..., Any]) -> list[Frozen]:
    """The frozen values of a traced function: what draws and tells the time first, then the largest.

    Those are: the globals, closed-over variables and attributes that its functions read, if they are numbers, texts or
    arrays; every other array that became part of the program, under the variable of the function that held it;
    arguments that are not arrays; and calls of random generators and clocks while the function was traced. Functions
    that recorded nothing are not examined.
    """
    block = program.block
    named = {f.name: f for f in _named(block, function)}
    lines = {
        (f.place.filename, line, f.numbers) for f in named.values() if f.place for line in _lines_of(f.name, f.place)
    }
    others: dict[Any, Frozen] = {}
    for const, place in _arrays(block):
        name = "".join(place.variables)
        if name in named or (not name and (place.filename, place.line, _numbers(const.numpy())) in lines):
            continue
        name = name or _attribute(place)
        origin = _origin_of(name, place) if name else "computed"
        key = (name, place.filename) if name else (place, str(const.type))
        others.setdefault(key, frozen_value(name, const.numpy(), place, origin))
    found = [*named.values(), *others.values(), *draws(block, function), *_static_arguments(program, function)]
    return sorted(found, key=lambda f: (f.origin not in URGENT, f.origin == "argument", -f.size))


def literal_values(program: Program) -> list[Frozen]:
    """The numbers that stand in the function's lines and that the program reads, in its order."""
    found = literals(program.block, parsed)
    return [
        Frozen(text, str(c.type), c.type.dtype.itemsize, place, text, "literal", numbers=_numbers(c.numpy()))
        for text, c, place in found
    ]


def _origin_of(name: str, place: Place) -> Origin:
    """Return the origin of a local variable of the function around a place, or of an attribute of its object."""
    nodes = [n for function in _functions(place.filename, {place.line}) for n in _inside(function)]
    origin = origin_in(nodes, name, place.line) if name.isidentifier() else "attribute"
    path = ast.parse(name, mode="eval").body
    return origin if origin == "draw" else origin_behind(path, place.filename, place.line, parsed) or origin


def _attribute(place: Place) -> str:
    """Return the only attribute of a method's object that a line reads, `self.noise`; "" if there are others."""
    found: set[str] = set()
    for method in _functions(place.filename, {place.line}):
        own = method.args.args[0].arg if method.args.args else ""
        nodes = [n for n in _inside(method) if isinstance(n, ast.Attribute) and n.lineno == place.line]
        called = {n.func for n in _inside(method) if isinstance(n, ast.Call)}
        found |= {
            ast.unparse(n) for n in nodes if n not in called and isinstance(n.value, ast.Name) and n.value.id == own
        }
    return found.pop() if len(found) == 1 else ""


def _arrays(block: Block) -> Iterator[tuple[Const, Place]]:
    """The arrays that the user's code brought in, without the short integer vectors that indexing makes.

    A long array that was computed from others has the place of the op that reads it.
    """
    used = [*((v, op.place) for op in walk(block) for v in op.inputs), *((v, None) for v in block.results)]
    for const, reader in used:
        if not isinstance(const, Const) or not const.type.rank:
            continue
        place = const.place or (None if const.is_short or reader is None else reader._replace(variables=()))
        if place is not None and (place.variables or not _is_index(const)):
            yield const, place


def _is_index(const: Const) -> bool:
    return const.type.dtype.kind in "iu" and const.is_small


def frozen_value(name: str, value: Any, place: Place | None, origin: Origin) -> Frozen:
    """Return a number, an array or another value as it is listed."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        text, type_ = value_text(array), str(Type(array.dtype, array.shape))
        return Frozen(name, type_, array.nbytes, place, text, origin, array_digest(array), _numbers(array))
    text = repr(value)
    shown = text if len(text) <= 60 else text[:57] + "..."
    return Frozen(name, type(value).__name__, 0, place, shown, origin, "", _numbers(value))


def _numbers(value: Any) -> tuple[Any, ...]:
    """Return how many elements an array, a list or a number has, and the first thousand; () of other values."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        parts = [_numbers(part) for part in value]
        return (sum(part[0] for part in parts), *(n for part in parts for n in part[1:])) if all(parts) else ()
    flat = np.asarray(value).reshape(-1)
    return (flat.size, *flat[:1000].tolist())


def array_digest(array: npt.NDArray[Any]) -> str:
    """Return the first 16 digits of the SHA-256 of an array's elements, in order, as a file holds them."""
    if array.dtype.kind == "O":
        data = repr(array.tolist()).encode()
    else:
        native = array.astype(array.dtype.newbyteorder("<")) if array.dtype.isbuiltin == 1 else array
        data = np.ascontiguousarray(native).tobytes()
    return hashlib.sha256(data).hexdigest()[:16]


def value_text(array: npt.NDArray[Any]) -> str:
    """The elements of a short array, or the range of a longer one."""
    if array.size <= 4:
        return str(array.tolist())
    if array.dtype.kind not in "iuf":
        return ""
    if not any(array.strides):  # one number, as many times as there are elements
        array = array[(slice(0, 1),) * array.ndim]
    known = array[~np.isnan(array)]
    if known.size == array.size:
        return f"{array.min():.4g} to {array.max():.4g}"
    return f"{known.min():.4g} to {known.max():.4g}, some NaN" if known.size else "NaN"


def _static_arguments(program: Program, function: Callable[..., Any]) -> Iterator[Frozen]:
    for name, value in zip(input_names(function, program.arguments), program.static, strict=True):
        if value is not ARRAY:
            yield frozen_value(f"argument {name}", value, None, "argument")


# What the functions read from outside.


def _named(block: Block, function: Callable[..., Any]) -> Iterator[Frozen]:
    """The outside values that the functions with recorded ops read, each with the first line that reads it."""
    for filename, scope, node in _traced_functions(block, function):
        for expression in _outside(node, scope):
            value = _look_up(expression, scope)
            if _is_value(value):
                behind = origin_behind(expression, filename, expression.lineno, parsed)
                origin = behind or _origin(expression, function, scope)
                yield frozen_value(ast.unparse(expression), value, _place(filename, expression, node), origin)


def _origin(expression: ast.expr, function: Callable[..., Any], scope: Scope) -> Origin:
    """Return whether a path begins at the function's object, at a variable around the function, or at a global."""
    root = _root(expression)
    if root == "self":
        return "attribute"
    inner = inspect.unwrap(function)
    code = getattr(getattr(inner, "__func__", inner), "__code__", None)
    return "closure" if code is not None and root in code.co_freevars else "global"


def _traced_functions(block: Block, function: Callable[..., Any]) -> Iterator[tuple[str, Scope, AnyFunction]]:
    """The functions with recorded ops, each with its file and what it sees."""
    lines: dict[str, set[int]] = {}
    for op in walk(block):
        if op.place is not None and op.place.filename:
            lines.setdefault(op.place.filename, set()).add(op.place.line)
    for filename, inside in lines.items():
        scope = _scope(filename, function)
        for node in _functions(filename, inside):
            yield filename, scope, node


def _place(filename: str, expression: ast.expr, node: AnyFunction) -> Place:
    return Place(filename, expression.lineno, getattr(node, "name", "<lambda>"))


def draws(block: Block, function: Callable[..., Any]) -> Iterator[Frozen]:
    """The calls of NumPy's and Python's random generators, and of clocks, in the functions of a recorded program.

    Calls of a generator that is a local variable of the function are left out: they draw the same numbers in each call.
    """
    generators = (np.random.Generator, np.random.RandomState, random.Random)
    for filename, scope, node in _traced_functions(block, function):
        own = _own_names(node, scope)
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or _root(call.func) in own:
                continue
            method = _reach(call.func, scope, generators)
            name, place = f"{ast.unparse(call.func)}()", _place(filename, call, node)
            if isinstance(getattr(method, "__self__", method), generators):
                yield Frozen(name, "random", 0, place, "drawn while tracing", "draw")
            elif is_clock(method):
                yield Frozen(name, "time", 0, place, "read while tracing", "clock")


def _reach(node: ast.expr, scope: Scope, generators: tuple[type, ...]) -> Any:
    """Return the object at a path through modules and random generators; None if there is none."""
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    value = _reach(node.value, scope, generators)
    if isinstance(value, generators):
        return value
    tells_dates = value is datetime.date or value is datetime.datetime
    return getattr(value, node.attr, None) if tells_dates or inspect.ismodule(value) else _look_up(node, scope)


def _lines_of(name: str, place: Place) -> set[int]:
    """The lines that read a name."""
    found = (n for n in ast.walk(parsed(place.filename)) if isinstance(n, ast.expr))
    return {n.lineno for n in found if ast.unparse(n) == name}


def _is_value(value: Any) -> bool:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return bool(value) and all(map(_is_value, value))
    return isinstance(value, np.ndarray | np.generic | bool | int | float | str)


def parsed(filename: str) -> ast.Module:
    """Return the syntax tree of a file; an empty one if there is none."""
    try:
        with open(filename, "rb") as file:
            return parsed_text(file.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _functions(filename: str, lines: set[int]) -> list[AnyFunction]:
    """The innermost function of a file around each of the lines."""
    nodes = [node for node in ast.walk(parsed(filename)) if isinstance(node, AnyFunction)]
    found: dict[AnyFunction, None] = {}
    for line in sorted(lines):
        around = [n for n in nodes if n.lineno <= line <= (n.end_lineno or 0)]
        if around:
            found[max(around, key=lambda n: (n.lineno, n.col_offset))] = None
    return list(found)


def _scope(filename: str, function: Callable[..., Any]) -> Scope:
    """The globals of a file's module, the function's closed-over variables, and its object if that is of this file."""
    module = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == filename), None)
    scope = dict(vars(module)) if module is not None else {}
    inner = inspect.unwrap(function)
    if not inspect.isroutine(inner):
        if not dataclasses.is_dataclass(inner):
            scope["self"] = inner
        inner = type(inner).__call__
    elif inspect.ismethod(inner):
        scope["self"] = inner.__self__
        inner = inner.__func__
    code = getattr(inner, "__code__", None)
    if code is not None and code.co_filename == filename:
        scope = {**inner.__globals__, **scope, **inspect.getclosurevars(inner).nonlocals}
    return scope


def _outside(node: AnyFunction, scope: Scope) -> Iterator[ast.expr]:
    """The longest names and paths that a function reads and that do not start at a local variable."""
    own = _own_names(node, scope)
    covered: set[ast.AST] = set()
    for n in _inside(node):
        if n in covered or not isinstance(n, ast.Name | ast.Attribute | ast.Subscript):
            continue
        if _root(n) not in own and _is_value(_look_up(n, scope)):
            covered.update(ast.walk(n))
            yield n


def _inside(node: AnyFunction) -> list[ast.AST]:
    body = node.body if isinstance(node.body, list) else [node.body]
    return [n for part in body for n in ast.walk(part)]


def _own_names(node: AnyFunction, scope: Scope) -> set[str]:
    """The variables of a function."""
    own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    own |= {n.id for n in _inside(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return own - ({"self"} if "self" in scope else set())


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _look_up(node: ast.expr, scope: Scope) -> Any:
    """Return the object with this name or path, without running user code; None if there is none.

    A path goes through objects, their classes, modules of the user's and dicts with constant keys.
    """
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Attribute):
        value = _look_up(node.value, scope)
        if inspect.ismodule(value):
            filename = getattr(value, "__file__", None) or ""
            return None if not filename or is_library(filename) else vars(value).get(node.attr)
        return inspect.getattr_static(value, node.attr, None)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        value = _look_up(node.value, scope)
        return value.get(node.slice.value) if isinstance(value, dict) else None
    return None
