"""Finds which values of the sides of a statement an If can output, and whether two of them are of one type.

x = 1.0   on one side, x = 2.0   on the other       is_output: an If selects between the two numbers
x = None  on one side, x = 2.0   on the other       of_two_kinds: "x is None on one side and a float on the other"
x = y     on both sides                             is_same: x needs no If
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either
from primsplit.frontends.python.conversion.growing import Grown
from primsplit.frontends.python.conversion.holders import is_numpys
from primsplit.frontends.python.conversion.identity import classes_of
from primsplit.frontends.python.conversion.missing import is_missing
from primsplit.frontends.python.conversion.plainer import RESULT
from primsplit.frontends.python.conversion.records import fields_of, is_record
from primsplit.ir import Const, Type, dims
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.complex_array import ComplexArray


def of_two_kinds(name: str, outcomes: Sequence[Any]) -> str:
    """Return the words for a name that is no number or array after a side."""
    kinds = [*dict.fromkeys(map(_kind, outcomes))]
    if len(kinds) == 1:
        return f"{label(name)} is {kinds[0]} on both sides, and no number or array"
    return f"{label(name)} is {kinds[0]} on one side and {kinds[1]} on the other"


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if is_missing(value):
        return "without a value"
    if isinstance(value, Array | ComplexArray):
        return "a number" if value.is_number() else "an array"
    if isinstance(value, Either | Grown):
        return "one of several things" if isinstance(value, Either) else "a list that grows"
    kind = type(value).__name__
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


def label(name: str) -> str:
    """Return the words by which an error names a variable."""
    return "what it returns" if name == RESULT else name


def is_container(value: Any) -> bool:
    """Whether a value is a list or a dictionary of Python's, and of no class derived from them."""
    return type(value) is list or type(value) is dict


def copied(value: Any) -> Any:
    """Return a copy of a list or a dictionary; any other value itself."""
    return value.copy() if is_container(value) else value


def is_array(value: Any) -> bool:
    """Whether a value is a traced array that can be written to."""
    return type(value) is Array and not value.is_number()


def is_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy, or a traced value."""
    return type(value) is Array or isinstance(value, int | float | complex | np.generic | ComplexArray)


def is_output(value: Any) -> bool:
    """Whether an If can output the value."""
    if type(value) is tuple or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return all(map(is_output, value))
    if is_record(value):
        return all(map(is_output, fields_of(value)))
    return is_number(value) or is_numpys(value)


def are_of_one_type(made: Sequence[Any]) -> bool:
    """Whether the values of a name after the sides are alike for Python: one of each is traced, and shapes are equal.

    Two numbers that are known in each side are not: a list has the one as a place, `range` counts up to it.
    """
    rows = [trees.leaves_or_none(each) for each in made]
    if any(len(row) != len(rows[0]) for row in rows):
        return False
    return all(_are_leaves_of_one_type(leaves) for leaves in zip(*rows, strict=True))


def _are_leaves_of_one_type(leaves: Sequence[Any]) -> bool:
    if all(is_same(leaves[0], other) for other in leaves[1:]):
        return True
    parts = [leaf.real if isinstance(leaf, ComplexArray) else leaf for leaf in leaves]
    if not any(isinstance(part, Array) and not isinstance(part.last_value, Const) for part in parts):
        return False
    return all(_are_alike(parts[0], other) for other in parts[1:])


def _are_alike(a: Any, b: Any) -> bool:
    """Whether two values have one class in Python, one dtype and one shape.

    Python divides a float by 0.0 with an error, which NumPy does not, and a float32 array times a float is float32.
    """
    type_a, type_b = _type_of(a), _type_of(b)
    if classes_of(a) != classes_of(b) or type_a.dtype != type_b.dtype or type_a.shape is None or type_b.shape is None:
        return False
    return dims.same_shape(type_a.shape, type_b.shape)


def _type_of(value: Any) -> Type:
    if isinstance(value, Array):
        return value.type
    array = np.asarray(value)
    return Type(array.dtype, array.shape)


def is_same(value: Any, other: Any) -> bool:
    """Whether two values are one object, or equal Python constants."""
    if value is other:
        return True
    return type(value) is type(other) and type(value) in {int, bool, str, float, complex} and repr(value) == repr(other)
