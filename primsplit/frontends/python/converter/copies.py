"""Compiles converted definitions and creates copies of functions with the converted code.

A copy uses the globals, cells, defaults and attributes of the function itself: the dictionaries and cells are the
user's own objects. Each code object is compiled once and cached by identity: equal code in two files has two
conversions, each with its own file name and lines.

    f                       # the user's function object, unchanged
    Conversion(...).copy(f) # a function with the same globals and cells, and converted code
"""

import ast
import functools
import threading
import types
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from primsplit.frontends.python.converter import without_source
from primsplit.frontends.python.converter.classes_asked import may_ask_for_classes
from primsplit.frontends.python.converter.source import SourceError, definition_of
from primsplit.frontends.python.converter.transformer import OPERATORS, Transformer
from primsplit.frontends.python.functions import function_like
from primsplit.frontends.python.overrides.table import is_stood_in_for, substitute_of_method
from primsplit.ir.caching.fingerprint import package_of
from primsplit.ir.caching.held import is_written_by_python
from primsplit.ir.definitions import Definition, Node
from primsplit.ir.definitions import copied as tree_copied
from primsplit.ir.recompiled import compiles_to, recompiled, renamed
from primsplit.tracing import is_library
from primsplit.tracing.converting import Helper, is_converted, run_with, running
from primsplit.tracing.places import is_scipys

Function = types.FunctionType
Code = types.CodeType


class Caller(Helper, ABC):
    """A helper that selects the function to call."""

    @abstractmethod
    def called(self, function: Any) -> Any:
        """Return the function to call in place of `function`."""


class Rewritten(Protocol):
    """A file whose functions are rewritten before they are converted."""

    def code_of(self, function: Function) -> Code | None:
        """Return the converted code of a function of the file; None for a function that the file does not have."""
        ...


class _Known(NamedTuple):
    code: weakref.ref[Code]
    converted: Code
    node: Node


_known: dict[int, _Known] = {}
"""The conversions by the `id` of a code object; an entry is removed with its code object."""
_lock = threading.RLock()
_origins: WeakKeyDictionary[Function, Function] = WeakKeyDictionary()
"""The original function of each copy."""


def current() -> "Conversion | None":
    """Return the conversion that this thread runs; None if there is none."""
    conversion: Conversion | None = running()
    return conversion


def converted(function: Any) -> Any:
    """Return the function to call in place of `function` in the running conversion; without one, itself.

    A substitute for a library's function calls the result of this where it passes traced values on.

    >>> import math, statistics
    >>> @extend.stands_in_for(statistics.geometric_mean)
    ... def geometric_mean(data):
    ...     return extend.converted(math.exp)(sum(map(extend.converted(math.log), data)) / len(data))
    >>> ps.grad(lambda x: statistics.geometric_mean([x[0], x[1]]))(np.ones(2)).tolist()
    [0.5, 0.5]
    """
    conversion = current()
    return function if conversion is None else conversion.operators[True].called(function)


def calculated(operator: str, *operands: Any) -> Any:
    """Return the result of an operator in a converted function of a package."""
    conversion = current()
    if conversion is None:
        raise RuntimeError("no conversion is running in this thread")
    return getattr(conversion.operators[True], operator)(*operands)


def origin(value: Any) -> Any:
    """Return the original of a copy; any other value itself."""
    return _origins.get(value, value) if type(value) is Function else value


def remember_origin(copied: Function, function: Function) -> Function:
    """Store the original of a copy; return the copy."""
    _origins[copied] = function
    return copied


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """The options of a conversion: what it copies, and what the copies call."""

    serves: bool = False
    """Whether functions of NumPy, SciPy and Python have their substitutes."""
    packages: frozenset[str] = frozenset()
    """The installed packages whose functions are copied like the user's."""
    without_source: bool = False
    """Whether functions whose source cannot be read are copied too, and read substitutes by name."""
    rewritten: Mapping[str, Rewritten] = field(default_factory=dict)
    """The files, by name, whose functions get the code from there."""
    own: frozenset[Function] = frozenset()
    """Functions whose own code is copied although they have a substitute."""

    def beside(self, other: "Options") -> "Options":
        """Return the options of a conversion that does what either of two does; of both, files are taken from this."""
        return Options(
            serves=self.serves or other.serves,
            packages=self.packages | other.packages,
            without_source=self.without_source or other.without_source,
            rewritten={**other.rewritten, **self.rewritten},
            own=self.own | other.own,
        )


class Conversion:
    """One run of a function that is converted, by `options`, with the functions it calls."""

    def __init__(self, operators: Mapping[bool, Caller], options: Options) -> None:
        self.operators, self.options = operators, options
        self.copies: dict[int, tuple[Any, Any]] = {}
        """The copies by the `id` of the function, with the function, which keeps the `id` valid."""
        self.callees: dict[int, tuple[Any, Any]] = {}
        """The functions to call by the `id` of a called function or ufunc, with that function."""
        self.closures: dict[int, tuple[Function, Function]] = {}
        """The copies of closures of this package, likewise."""
        self.special: dict[tuple[type, str], Any] = {}

    @classmethod
    def inside(cls, around: "Conversion | None", operators: Mapping[bool, Caller], options: Options) -> "Conversion":
        """Return a conversion that extends the one `around` it."""
        return cls(operators, options if around is None else options.beside(around.options))

    def copy(self, function: Any) -> Any:
        """Return the copy of a function; the function itself if it is not to be copied."""
        function = origin(function)
        if id(function) not in self.copies:
            self.copies[id(function)] = function, self._copied(function)
        return self.copies[id(function)][1]

    def _copied(self, function: Function) -> Function:
        code = function.__code__
        if code.co_filename in self.options.rewritten:
            converted = self.options.rewritten[code.co_filename].code_of(function)
            if converted is not None:
                return function if converted is code else _with_code(function, converted)
        if is_converted(code) or not self.is_convertible(function):
            return function
        try:
            converted = converted_code(function, self.operators[bool(_package(function))])
        except SourceError:
            return self._without_source(function)
        return _with_code(function, converted)

    def _without_source(self, function: Function) -> Function:
        if not (self.options.serves and self.options.without_source and without_source.is_copied(function.__code__)):
            return function
        copied = without_source.copied(function, self.operators[bool(_package(function))].called)
        return remember_origin(copied, function)

    def is_convertible(self, function: Function) -> bool:
        """Whether a function is the user's own, is of a package that is copied, or may test for classes."""
        if is_written_by_python(function.__code__):
            return False
        if function.__globals__.get("__name__") in LIKE_PACKAGES:
            return self.options.serves
        if is_scipys(function.__code__.co_filename):
            return "scipy" in self.options.packages and not self.is_replaced(function)
        if is_library(function.__code__.co_filename):
            return False
        package = _package(function)
        return not package or package in self.options.packages or may_ask_for_classes(function)

    def is_replaced(self, function: Function) -> bool:
        """Whether a function has a substitute, and is not one of `own`, whose own code is copied."""
        return function not in self.options.own and is_stood_in_for(function)

    def changed(self, kind: type, name: str) -> Any:
        """Return the function to call in place of a special method of a class; None if it is unchanged."""
        if not kind.__flags__ & HEAP:
            return None
        key = kind, name
        if key not in self.special:
            self.special[key] = self._changed(kind, name)
        return self.special[key]

    def _changed(self, kind: type, name: str) -> Any:
        if kind.__module__.partition(".")[0] == "primsplit":
            return None
        held = static(kind, name)
        new = self.method(held)
        return None if new is held else new

    def method(self, function: Any) -> Any:
        """Return the substitute of a method's function, or its copy; itself if it has neither."""
        if self.options.serves and (substitute := substitute_of_method(function)) is not None:
            return substitute
        return self.copy(function) if type(function) is Function else function

    def running(self) -> AbstractContextManager[object]:
        """Return a context manager inside of which this thread runs the conversion."""
        return run_with(self)


HEAP = 1 << 9
"""The flag of CPython's types that were created by a `class` statement (Py_TPFLAGS_HEAPTYPE)."""
ABSENT = object()


def static(kind: type, name: str) -> Any:
    """Return the value of a name in a class or its bases, without binding; ABSENT if there is none."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), ABSENT)


LIKE_PACKAGES: set[str] = {"collections", "collections.abc", "_collections_abc", "contextlib"}
"""Modules of Python and NumPy that are written in Python and converted like those of installed packages."""


def _package(function: Function) -> str:
    module = function.__globals__.get("__name__")
    if not isinstance(module, str):
        return ""
    if module in LIKE_PACKAGES or is_scipys(function.__code__.co_filename):
        return module.partition(".")[0] if module.startswith("scipy.") else module
    return package_of(module)


def _with_code(function: Function, code: Code) -> Function:
    """Return a function with this code and all other parts of the function."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in code.co_freevars)
    return remember_origin(function_like(function, code=code, cells=closure), function)


def converted_code(function: Function, operators: Helper) -> Code:
    """Return the converted code of a function. Raises SourceError if its source cannot be read."""
    return _conversion_of(function, operators).converted


def _conversion_of(function: Function, operators: Helper) -> _Known:
    code = function.__code__
    key = id(code)
    with _lock:
        known = _known.get(key)
        if known is not None and known.code() is code:
            return known
        new = _known[key] = _new_conversion(function, operators)
        return new


def _new_conversion(function: Function, operators: Helper) -> _Known:
    code, key = function.__code__, id(function.__code__)
    try:
        definition = current_definition(function)
        node = Transformer().visit(tree_copied(definition.node))
        new_code = compiled(definition._replace(node=tree_copied(node)), code, {OPERATORS: operators})
    except RecursionError:
        raise SourceError(f"the source of {function.__qualname__} is nested too deeply to be converted") from None
    if {*new_code.co_freevars} != {*code.co_freevars}:
        raise _changed_source(function)
    return _Known(weakref.ref(code, functools.partial(_forget, _known, key)), new_code, node)


def current_definition(function: Function) -> Definition:
    """Return the definition of a function, which compiles to its code. Raises SourceError."""
    definition, code = definition_of(function), function.__code__
    if not compiles_to(definition, code):
        raise _changed_source(function)
    return definition


def _changed_source(function: Function) -> SourceError:
    return SourceError(f"the source of {function.__qualname__} has changed since it was loaded")


def _forget(known: dict[int, _Known], key: int, _: object) -> None:
    known.pop(key, None)


def converted_source(function: Callable[..., Any], operators: Helper) -> str:
    """Return the source of a function's copy. Raises SourceError if the source of the function cannot be read."""
    node = _conversion_of(origin(function), operators).node
    return ast.unparse(node)


def compiled(definition: Definition, code: Code, helpers: Mapping[str, Helper]) -> Code:
    """Return the code of a definition in place of `code`, with its free variables, file name and qualified name.

    The names of the helpers are replaced by the objects, which stand in the constants of the code. The node of the
    definition is changed.
    """

    def prepared(tree: ast.Module) -> ast.Module:
        whole: ast.Module = ast.fix_missing_locations(_HelpersNames(helpers).visit(tree))
        _begin_where_they_are(whole)
        return whole

    inner = recompiled(definition, code, prepared)
    return renamed(inner, code, {_text(helper): value for helper, value in helpers.items()})


def _begin_where_they_are(tree: ast.AST) -> None:
    """Set the position of each call of a helper to its first line: Python uses the line where a method's name ends."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_helper(node.value):
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset


def _is_helper(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(_text(""))


class _HelpersNames(ast.NodeTransformer):
    """Replaces the names of helpers by string constants, which `_finished` replaces by the helpers."""

    def __init__(self, helpers: Mapping[str, Helper]) -> None:
        self.helpers = helpers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(_text(node.id)), node) if node.id in self.helpers else node


def _text(helper: str) -> str:
    return f"primsplit helper {helper}"
