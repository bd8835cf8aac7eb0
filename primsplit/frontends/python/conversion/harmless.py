"""Finds functions and objects without side effects: calling or reading them changes nothing."""

import ast
import builtins
import cmath
import collections
import dataclasses
import functools
import inspect
import math
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.growing import Grown
from primsplit.frontends.python.conversion.holders import held, is_rewritten, is_users_object, reached, seen
from primsplit.frontends.python.conversion.records import only_holds
from primsplit.frontends.python.conversion.statements import RESULT, Callee, Effects, Refused, effects
from primsplit.ir.caching.fingerprint import is_library, package_of
from primsplit.ir.parsing import parsed_text, undisturbed
from primsplit.tracing import is_library as is_librarys_file
from primsplit.tracing.array import Array
from primsplit.tracing.functionlike import FunctionLike

Lookup = Callable[[str], Any]


class Callers(NamedTuple):
    """The user's functions on the call stack of the analysis, so that a recursive function is analyzed once.

    `harmless` caches the functions without side effects. What a function sets is noted if its file is rewritten, and
    then allowed, unless the analysis `is_strict`. `notes` tells whether the calling code notes the arrays that
    functions of NumPy write to.
    """

    codes: frozenset[types.CodeType] = frozenset()
    harmless: dict[tuple[int, int], Any] | None = None
    is_strict: bool = False
    notes: bool = True

    def inside(self, code: types.CodeType, *, notes: bool) -> "Callers":
        """Return the callers for the functions that `code` calls."""
        return self._replace(codes=self.codes | {code}, notes=notes)


UNKNOWN = object()
"""A stand-in for a value that is not known before the statement runs."""

_WRITERS = frozenset({"shuffle", "setitem", "rvs"})
"""Functions of NumPy, SciPy and Python that write to an argument or draw random numbers."""
_WRITERS_TO_ARRAYS = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""NumPy's functions that write to their first argument."""
_METHODS = frozenset({
    "all", "any", "argmax", "argmin", "astype", "clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "flatten", "item", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round", "squeeze", "std",
    "sum", "swapaxes", "take", "trace", "transpose", "var", "_replace",
})  # fmt: skip
"""Methods of arrays and numbers that compute without writing."""
_OF_DICTIONARIES = frozenset({"get", "items", "keys", "values"})
"""Methods of a dictionary that read it, as `held[key]` does."""
_OF_UFUNCS = frozenset({"accumulate", "outer", "reduce", "reduceat"})
"""Methods of NumPy's ufuncs that compute without writing; `at` writes to its first argument."""
_OF_PYTHON = frozenset({
    "abs", "all", "any", "bool", "complex", "divmod", "enumerate", "filter", "float", "int", "isinstance", "len",
    "list", "map", "max", "min", "pow", "range", "reversed", "round", "sorted", "sum", "tuple", "zip",
})  # fmt: skip
_TELLING = frozenset({
    "print", "debug", "info", "warning", "warn", "error", "critical", "exception", "log",
})  # fmt: skip
"""Functions of `builtins`, `logging` and `warnings` that show a text to people, which happens while recording."""
_TRANSFORMS = frozenset({
    "derivative", "grad", "hessian", "jacobian", "laplacian", "value_and_derivative", "value_and_grad",
    "value_and_jacobian", "value_grad_and_hessian", "value_grad_and_hvp", "vmap",
})  # fmt: skip
"""Functions of this package that return a function which calls the given one, and has no effects of its own."""
_OF_PACKAGE = _TRANSFORMS | {
    "cond", "fori_loop", "hvp", "jvp", "map", "project_to", "safe_where", "scan", "stop_gradient", "switch",
    "while_loop",
}  # fmt: skip
"""Functions of this package that compute and call the functions they receive, and have no effects of their own."""
_MODULES = frozenset({"numpy", "scipy", math.__name__, cmath.__name__})


def is_harmless(callee: Callee, lookup: Lookup, callers: Callers | None = None) -> bool:
    """Whether a call changes nothing but its result. `lookup` returns the value of a name at the statement."""
    callers = callers or Callers()
    first, *rest = callee
    owner = lookup(first) if first else UNKNOWN
    if rest[-1:] == [RESULT]:
        return _is_of_package(_found(owner, rest[:-1]), _TRANSFORMS)
    if owner is UNKNOWN:
        return len(rest) == 1 and rest[0] in _METHODS
    owner = _found(owner, rest[:-1])
    if not rest:
        return _computes(owner, first, callers)
    if isinstance(owner, Array | np.ndarray | np.generic | int | float | complex):
        return rest[-1] in _METHODS
    if type(owner) is dict:
        return rest[-1] in _OF_DICTIONARIES
    if isinstance(owner, np.ufunc):
        is_known_method = rest[-1] in _OF_UFUNCS or (rest[-1] == "at" and callers.notes)
        return is_known_method and _does_no_more(owner, callers)
    if is_users_object(owner):
        method = inspect.getattr_static(owner, rest[-1], None)
        bound = UNKNOWN if rest[-1] in getattr(owner, "__dict__", {}) else owner
        return isinstance(method, types.FunctionType) and _is_harmless_function(method, callers, bound)
    if _module(owner) in {"logging", "warnings", "contextlib"}:
        return rest[-1] in _TELLING or rest[-1] in {"catch_warnings", "nullcontext"}
    is_users = isinstance(owner, types.ModuleType) and not is_library(owner.__name__)
    is_known = is_users or _module(owner) in {*_MODULES, _PACKAGE, dataclasses.__name__}
    return is_known and _computes(getattr(owner, rest[-1], None), rest[-1], callers)


def may_be_called(function: Any, callers: Callers) -> bool:
    """Whether a call of the function changes nothing but its result."""
    if isinstance(function, types.MethodType) and isinstance(function.__func__, types.FunctionType):
        return _is_harmless_function(function.__func__, callers, function.__self__)
    return _computes(function, getattr(function, "__name__", ""), callers)


def _found(owner: Any, names: Sequence[str]) -> Any:
    """Return the value of an attribute chain; UNKNOWN if the owner is."""
    for name in names:
        owner = UNKNOWN if owner is UNKNOWN else getattr(owner, name, None)
    return owner


_PACKAGE = __name__.partition(".")[0]


def _is_of_package(function: Any, names: Set[str]) -> bool:
    """Whether a function is the one that this package exports under one of these names."""
    name = getattr(function, "__name__", "")
    return name in names and getattr(sys.modules[_PACKAGE], name) is function


def what_does_more(found: Effects, lookup: Lookup, callers: Callers | None = None) -> str | None:
    """Return the first name or attribute chain whose read may have side effects, and why; None if there is none.

    `lookup` returns the value of a name; the values that the statements compute come from these.
    """
    callers = callers or Callers()
    for chain in sorted({(name,) for name in found.read} | found.attributes):
        value = lookup(chain[0])
        for name in chain[1:]:
            value = UNKNOWN if value is UNKNOWN else inspect.getattr_static(value, name, UNKNOWN)
        if value is not UNKNOWN and not _may_be_read(value, callers):
            part = next(part for part in reached([value], held) if not _does_no_more(part, callers))
            return f"{'.'.join(chain)}, {'' if part is value else 'which holds '}{_named(part)}"
    return None


def _named(value: Any) -> str:
    """Return what a value is, of those that may do more than compute."""
    if isinstance(value, type(functools.lru_cache(len))):
        return "a function whose results functools keeps in a cache"
    if isinstance(value, types.FunctionType | types.MethodType):
        return f"a function that may change something ({value.__name__})"
    if hasattr(type(value), "__next__"):
        return "an iterator"
    return f"a {type(value).__name__}"


def _may_be_read(value: Any, callers: Callers) -> bool:
    """Whether a value and all that it holds may be read, called and iterated any number of times."""
    return all(_does_no_more(part, callers) for part in reached([value], held))


def _does_no_more(value: Any, callers: Callers) -> bool:
    """Whether a value is no iterator, draws no random numbers, and only computes when it is called or read."""
    if type(value) in {Either, Grown}:
        return True
    value = getattr(value, "__func__", value) if isinstance(value, types.MethodType) else value
    if isinstance(value, FunctionLike):
        return value.called is not None and all(isinstance(f, _FUNCTIONS) for f in value.called)
    if _module(value).startswith("numpy.random") and not isinstance(value, types.ModuleType):
        return False
    if isinstance(value, types.FunctionType):
        return is_library(value.__module__ or "") or _is_harmless_function(value, callers)
    if isinstance(value, types.BuiltinFunctionType):
        return value.__self__ is None or isinstance(value.__self__, types.ModuleType)
    if isinstance(value, np.ufunc):
        return any(set(types_of) - {*"O->"} for types_of in value.types)
    if isinstance(value, Array | type):
        return True
    if hasattr(type(value), "__next__") or getattr(value, "default_factory", None) is not None:
        return False
    if is_users_object(value):
        return all(_is_quiet(n, m, callers) for kind in type(value).__mro__ for n, m in _members(kind))
    return not callable(value) or hasattr(value, "original")


_FUNCTIONS = (types.FunctionType, types.MethodType, FunctionLike)


def _members(kind: type) -> list[tuple[str, Any]]:
    """Return the members of a class that the user wrote."""
    return [] if is_library(kind.__module__) else [*vars(kind).items()]


_NOT_ASKED = frozenset({
    "__init__", "__new__", "__post_init__", "__call__", "__str__", "__repr__", "__format__", "__hash__", "__del__",
    "__init_subclass__", "__class_getitem__", "__setattr__", "__delattr__", "__setitem__", "__delitem__", "__set__",
    "__enter__", "__exit__", "__reduce__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__",
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__imatmul__",
})  # fmt: skip
"""Special methods that only a call, a constructor or a write can run, and a write is recorded as such."""


def _is_quiet(name: str, member: Any, callers: Callers) -> bool:
    """Whether a member of a class that an expression may run only computes."""
    if isinstance(member, property):
        member = member.fget
    elif not isinstance(member, types.FunctionType):
        return not hasattr(type(member), "__get__") or isinstance(member, _READ_ONLY)
    elif name in _NOT_ASKED or not (name in _METHODS or (name.startswith("__") and name.endswith("__"))):
        return True
    if not isinstance(member, types.FunctionType) or is_librarys_file(member.__code__.co_filename):
        return True
    return member.__code__.co_filename.startswith("<") or _is_harmless_function(member, callers)


_READ_ONLY = (
    staticmethod, classmethod, types.MemberDescriptorType, types.GetSetDescriptorType, types.BuiltinFunctionType, type,
    type(vars(collections.namedtuple("_", "field"))["field"]),
)  # fmt: skip
"""Kinds of descriptors that return a method or a stored value."""


def _computes(function: Any, name: str, callers: Callers) -> bool:
    """Whether a function writes only to objects that it creates."""
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return function.__new__.__code__.co_filename.startswith("<")  # a NamedTuple's, which Python generated
    if only_holds(function) or function is dataclasses.replace:
        return True
    if isinstance(function, types.FunctionType) and (package_of(module) or not is_library(module)):
        return _is_harmless_function(function, callers)
    if isinstance(function, FunctionLike):
        return _may_be_read(function, callers)
    if _is_of_package(function, _OF_PACKAGE):
        return True
    original = getattr(function, "original", function)
    if getattr(builtins, name, None) is original:
        return name in _OF_PYTHON or name in _TELLING
    if name in _WRITERS or (name in _WRITERS_TO_ARRAYS and not callers.notes) or _module(function) not in _MODULES:
        return False
    return not isinstance(original, types.BuiltinFunctionType | np.ufunc) or _does_no_more(original, callers)


def _module(value: Any) -> str:
    """Return the top package of a module or function; "numpy.random..." in full for what draws random numbers."""
    value = getattr(value, "original", value)
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        return "numpy"
    name = name if isinstance(name, str) else ""
    return name if name.startswith("numpy.random") else name.partition(".")[0]


@functools.lru_cache(maxsize=4096)
def _effects_of(code: types.CodeType, is_noted: bool) -> Effects | None:
    """Return the effects of a function's statements; None if they may go beyond assignments to its own names.

    If the function's file is rewritten (`is_noted`), it notes its other writes, and these are allowed.
    """
    try:
        statements = _statements_of(code)
        result = effects(statements, returns=True, is_noted=is_noted)
    except (OSError, TypeError, SyntaxError, ValueError, Refused):
        return None
    own = {*code.co_varnames, *code.co_cellvars}
    if is_noted:
        return result if result.assigned <= own.union(code.co_freevars) else None
    return None if result.written or not result.assigned <= own else result


def files_to_note(values: Iterable[Any]) -> frozenset[str]:
    """Return the user's files whose functions must note their writes, as `values` reach one that may write."""
    functions = (part for part in reached(values, seen) if isinstance(part, types.FunctionType))
    codes = {f.__code__ for f in functions if not is_library(f.__module__ or "")}
    return frozenset(c.co_filename for c in codes if not is_rewritten(c) and _effects_of(c, False) is None)


def _statements_of(code: types.CodeType) -> Sequence[ast.AST]:
    """Return the statements of a function, or the body of a lambda. Raises Refused for any other source."""
    if code.co_name == "<lambda>":
        whole = parsed_text("".join(undisturbed(lambda: inspect.findsource(code))[0]))
        (function,) = [n for n in ast.walk(whole) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
        return [function.body]
    (node,) = parsed_text(textwrap.dedent(undisturbed(lambda: inspect.getsource(code)))).body
    if not isinstance(node, ast.FunctionDef):
        raise Refused("it is no function")
    return node.body


def _is_harmless_function(function: types.FunctionType, callers: Callers, bound: Any = UNKNOWN) -> bool:
    """Whether a function of the user assigns only to its own names and makes only harmless calls.

    `bound` is the object to which the method is bound.
    """
    code, key = function.__code__, (id(function), id(bound))
    if callers.harmless is not None and key in callers.harmless:
        return True
    if code in callers.codes:
        return True  # a recursive call adds no effects of its own
    is_noted = is_rewritten(code) and not callers.is_strict
    result = _effects_of(code, is_noted)
    if result is None:
        return False
    own = {*code.co_varnames, *code.co_cellvars, *result.inner}
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

    def lookup(name: str) -> Any:
        if name in own:
            is_bound = code.co_argcount > 0 and name == code.co_varnames[0] and name not in result.assigned
            return bound if is_bound else UNKNOWN
        return cells[name].cell_contents if name in cells else meaning(name, function.__globals__)

    inside = callers.inside(code, notes=is_noted)
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    is_harmless_itself = (
        all(_may_be_read(v, inside) for v in defaults)
        and what_does_more(result, lookup, inside) is None
        and all(is_harmless(c, lookup, inside) for c in result.calls)
        and (is_noted or not any(c[-1] == "replace" for c in result.calls))
    )
    if is_harmless_itself and callers.harmless is not None:
        callers.harmless[key] = function, bound
    return is_harmless_itself


def meaning(name: str, names: dict[str, Any]) -> Any:
    """Return the value of a global name or a builtin; UNKNOWN if there is none."""
    return names.get(name, getattr(builtins, name, UNKNOWN))
