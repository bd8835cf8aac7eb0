"""Defines the operators that copies call as `_ps`: outside of a conversion each does what Python does.

In a conversion, calls go to copies and substitutes, known arrays accept traced indices, and methods of the user's that
Python itself calls are copies.
"""

import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.identity import identified
from primsplit.frontends.python.converter import special
from primsplit.frontends.python.converter.calls import callee
from primsplit.frontends.python.converter.copies import Caller, current
from primsplit.frontends.python.overrides.builtin import NumberOwner
from primsplit.frontends.python.overrides.plain_arrays import elements_of, noted
from primsplit.frontends.python.overrides.table import ModuleSubstitute, substitute_of
from primsplit.ir.dims import Size
from primsplit.ir.dims.order import decided
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.branching.users_errors import asked_by_compiled
from primsplit.tracing.undo_log import note, note_attribute, note_elements, note_name

_PLAIN = frozenset({
    int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, type(None), range, slice,
    types.ModuleType, np.ndarray, Array,
})  # fmt: skip
"""Classes whose operators and attributes are never the user's functions."""


class Operators(Caller):
    """The operators in copies of the user's functions; with `is_package`, in those of installed packages."""

    def __init__(self, *, is_package: bool) -> None:
        self.is_package = is_package

    def called(self, function: Any) -> Any:
        """Return the function to call in place of `function`."""
        conversion = current()
        return function if conversion is None else callee(conversion, function, is_package=self.is_package)

    @staticmethod
    def owner(value: Any) -> Any:
        """Return the object whose attribute is read or written in place of `value`."""
        conversion = current()
        if conversion is None or type(value) in _PLAIN:
            is_number = conversion is not None and type(value) is Array and value.is_number()
            return NumberOwner(value) if is_number else value
        if conversion.options.serves and (known := substitute_of(value)) is not value:
            return value if type(known) is ModuleSubstitute else known
        is_own = special.has_own_attributes(conversion, type(value))
        return special.Owner(conversion, value) if is_own else value

    @staticmethod
    def indexed(value: Any) -> Any:
        """Return the object whose element is read or written in place of `value`."""
        conversion = current()
        if conversion is None:
            return value
        if conversion.options.serves and (type(value) is np.ndarray or type(value) is np.flatiter):
            return elements_of(value)
        if type(value) in _PLAIN:
            return value
        if isinstance(value, dict):
            note(value)  # reading it may insert an element
        if conversion.options.serves and (known := substitute_of(value)) is not value:
            return known
        is_own = special.has_own_elements(conversion, type(value))
        return special.Indexed(conversion, value) if is_own else value

    @classmethod
    def changed(cls, value: Any) -> Any:
        """Note a container, then return the object whose element is written."""
        note(value)
        return cls.indexed(value)

    @classmethod
    def indexed_in_place(cls, value: Any) -> Any:
        """Note a container and its elements, then return the object whose element `+=` changes."""
        note_elements(value)
        return cls.indexed(value)

    @classmethod
    def changed_owner(cls, value: Any, name: str | types.FunctionType) -> Any:
        """Note an attribute, then return the object on which it is written."""
        note_attribute(value, _attribute(name))
        return cls.owner(value)

    @classmethod
    def owner_in_place(cls, value: Any, name: str | types.FunctionType) -> Any:
        """Note an attribute and its value, then return the object whose attribute `+=` changes."""
        note_attribute(value, _attribute(name), in_place=True)
        return cls.owner(value)

    @staticmethod
    def assigning(name: types.FunctionType) -> None:
        """Note the value of a name that other functions see, which may be assigned next."""
        note_name(name)

    @staticmethod
    def caught() -> None:
        """Raise the error that a handler must not answer: a compiled function refused a traced value."""
        error = sys.exc_info()[1]
        if error is not None and (asked := asked_by_compiled(error)) is not None:
            raise asked from error

    @staticmethod
    def iterated(value: Any) -> Any:
        """Return the iterable of a loop in place of `value`."""
        conversion = current()
        return value if conversion is None or type(value) in _PLAIN else special.iterated(conversion, value)

    @staticmethod
    def managed(value: Any) -> Any:
        """Return the context manager of a `with` statement in place of `value`."""
        conversion = current()
        return value if conversion is None else special.managed(conversion, value)

    @staticmethod
    def is_(left: Any, right: Any) -> Any:
        """Return `left is right`."""
        return left is right if current() is None else identified("Is", left, right)

    @staticmethod
    def is_not(left: Any, right: Any) -> Any:
        """Return `left is not right`."""
        return left is not right if current() is None else identified("IsNot", left, right)

    @staticmethod
    def in_(value: Any, holder: Any) -> Any:
        """Return `value in holder`."""
        conversion = current()
        if conversion is None or type(holder) in _PLAIN:
            return value in holder
        return special.contains(conversion, value, holder)

    @classmethod
    def not_in(cls, value: Any, holder: Any) -> Any:
        """Return `value not in holder`."""
        return not cls.in_(value, holder)


def _attribute(name: str | types.FunctionType) -> str:
    """Return an attribute's name; a private one is read from the code of a function that uses it."""
    return name if isinstance(name, str) else name.__code__.co_names[0]


def _two_operands(name: str, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(left: Any, right: Any) -> Any:
        conversion = current()
        if conversion is None:
            return python(left, right)
        if type(left) in _PLAIN and type(right) in _PLAIN:
            result = python(left, right)
        else:
            result = special.two_operands(conversion, name, python, left, right)
        return noted(result, (left, right)) if type(result) is np.ndarray and conversion.options.serves else result

    return call


def _compared(name: str, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the comparison; in SciPy's own code, one of sizes that only the run knows is a traced truth value."""
    compare = _two_operands(name, python)
    relation = RELATIONS[name]

    def call(left: Any, right: Any) -> Any:
        if (type(left) is Size or type(right) is Size) and _is_undecided(left, relation, right):
            return python(FUNCTIONS[np.asarray](left), FUNCTIONS[np.asarray](right))
        return compare(left, right)

    return call


RELATIONS = {"eq": "==", "ne": "==", "lt": "<", "le": "<=", "gt": "<=", "ge": "<"}
"""The relation of sizes that decides a comparison, or its opposite."""


def _is_undecided(left: Any, relation: str, right: Any) -> bool:
    conversion = current()
    if (
        conversion is None
        or not conversion.options.own
        or not isinstance(left, int | Size)
        or not isinstance(right, int | Size)
    ):
        return False
    return decided(left, relation, right) is None


def _in_place(name: str, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(left: Any, right: Any) -> Any:
        conversion = current()
        note(left)
        if conversion is None or (type(left) in _PLAIN and type(right) in _PLAIN):
            result = python(left, right)
        else:
            result = special.in_place(conversion, name, python, left, right)
        if conversion is not None and conversion.options.serves and result is not left and type(result) is np.ndarray:
            return noted(result, (left, right))
        return result

    return call


def _one_operand(name: str, python: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(value: Any) -> Any:
        conversion = current()
        if conversion is None:
            return python(value)
        result = python(value) if type(value) in _PLAIN else special.one_operand(conversion, name, python, value)
        return noted(result, (value,)) if type(result) is np.ndarray and conversion.options.serves else result

    return call


BINARY: dict[str, tuple[str, Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "add": ("add", operator.add, operator.iadd), "sub": ("sub", operator.sub, operator.isub),
    "mult": ("mul", operator.mul, operator.imul), "matmult": ("matmul", operator.matmul, operator.imatmul),
    "div": ("truediv", operator.truediv, operator.itruediv), "mod": ("mod", operator.mod, operator.imod),
    "pow": ("pow", operator.pow, operator.ipow), "lshift": ("lshift", operator.lshift, operator.ilshift),
    "rshift": ("rshift", operator.rshift, operator.irshift), "bit_or": ("or", operator.or_, operator.ior),
    "bit_xor": ("xor", operator.xor, operator.ixor), "bit_and": ("and", operator.and_, operator.iand),
    "floor_div": ("floordiv", operator.floordiv, operator.ifloordiv),
}  # fmt: skip
"""The operators by Python's syntax: the method's name, the function, and the function for augmented assignment."""
COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "eq": ("eq", operator.eq), "not_eq": ("ne", operator.ne), "lt": ("lt", operator.lt), "lte": ("le", operator.le),
    "gt": ("gt", operator.gt), "gte": ("ge", operator.ge),
}  # fmt: skip
UNARY: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "neg": ("neg", operator.neg), "pos": ("pos", operator.pos), "invert": ("invert", operator.invert),
}  # fmt: skip

for _name, (_method, _python, _inplace) in BINARY.items():
    setattr(Operators, _name, staticmethod(_two_operands(_method, _python)))
    setattr(Operators, f"in_place_{_name}", staticmethod(_in_place(_method, _inplace)))
for _name, (_method, _compare) in COMPARISONS.items():
    setattr(Operators, _name, staticmethod(_compared(_method, _compare)))
for _name, (_method, _compute) in UNARY.items():
    setattr(Operators, _name, staticmethod(_one_operand(_method, _compute)))

OPERATORS = {is_package: Operators(is_package=is_package) for is_package in (False, True)}
"""The operators in copies, by whether these are of an installed package."""
