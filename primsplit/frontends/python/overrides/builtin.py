"""Substitutes for Python's own functions that compare traced numbers, or need a size known only at run time.

`min`, `max` and `sorted` compare, and each comparison would be a branch. A selection between two existing values has
the same value and gradient without a branch. `all` and `any` combine several conditions to one.

    max(a, b)       ->      Where(b > a, b, a)
"""

import builtins
import functools
import sys
import typing
from abc import ABCMeta
from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.python.overrides.chosen import are_numbers, chosen, is_number, is_weak, may_be_chosen
from primsplit.frontends.python.overrides.lexicographic import are_ordered, ordered
from primsplit.frontends.python.overrides.table import Substitute, substitute_of
from primsplit.ir import dims
from primsplit.ir.dims import Size
from primsplit.ir.errors import UnsupportedFunction
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import holds_traced
from primsplit.tracing.handles.concretization import note_classes, numpys_class
from primsplit.tracing.handles.truths import truths
from primsplit.tracing.hooks import HOOKS

Function = Callable[..., Any]


def _length(x: Any) -> Any:
    """Return `len(x)`; for a traced array a size, which supports arithmetic."""
    return x.shape[0] if isinstance(x, Array) and x.shape else builtins.len(x)


def _range(*bounds: Any) -> Any:
    """Return `range(...)`; with a traced bound, an array of the numbers, which can index but not drive a loop."""
    unknown = any(map(_is_unknown, bounds))
    return FUNCTIONS[np.arange](*bounds) if unknown else builtins.range(*bounds)


def _is_unknown(bound: Any) -> bool:
    if isinstance(bound, Array):
        return bound.known() is None and bound.dtype.kind in "iu" and HOOKS.whole_number(bound) is None
    return isinstance(bound, Size) and Size.told(bound) is None


def _extreme(original: Function, is_better: Function, of_sizes: Function) -> Function:
    """Return `min` or `max`: the first of equal elements, as in Python, by a `key` if there is one."""

    def pick(best: Any, new: Any) -> Any:
        if not (isinstance(best, Array) or isinstance(new, Array)):
            are_sizes = holds_traced((best, new)) and isinstance(best, int | Size) and isinstance(new, int | Size)
            return of_sizes(best, new) if are_sizes else original(best, new)
        return _chosen(is_better(new, best), new, best)

    def best_by_key(values: list[Any], key: Function) -> Any:
        keys = [key(v) for v in values]
        is_traced = any(map(holds_traced, keys)) and are_ordered(keys)
        if is_traced and all(map(is_number, values)):
            return _by_keys(values, keys, is_better)
        if not is_traced or not (may_be_chosen(values) or are_ordered(values)):
            return values[original(range(len(values)), key=keys.__getitem__)]
        place = _by_keys([*range(len(values))], keys, is_better)
        if not isinstance(place, Array):
            return values[place]
        return chosen(values, [place])[0] if may_be_chosen(values) else _one_of(values, place)

    def call(*args: Any, **options: Any) -> Any:
        if options.keys() - {"key"} or not args:
            return original(*args, **options)
        values, key = list(args[0]) if len(args) == 1 else list(args), options.get("key")
        if key is not None or (values and isinstance(values[0], tuple) and are_ordered(values)):
            return best_by_key(values, key or _itself)
        return functools.reduce(pick, values) if any(map(holds_traced, values)) else original(values)

    return call


def _by_keys(values: list[Any], keys: list[Any], is_better: Function) -> Any:
    """Return the value with the best key, the first of equal ones."""

    def pick(best: tuple[Any, Any], new: tuple[Any, Any]) -> tuple[Any, Any]:
        condition = ordered(is_better, new[1], best[1])
        return _chosen(condition, new[0], best[0]), _chosen(condition, new[1], best[1])

    return functools.reduce(pick, zip(values, keys, strict=True))[0]


def _one_of(values: list[Any], place: Array) -> Any:
    """Return the tuple at a place, number by number: they are of several kinds."""
    selected = functools.reduce(
        lambda best, k: _chosen(op.Equal(place, k), values[k], best), range(1, len(values)), values[0]
    )
    truths.made += 1
    HOOKS.note_choice(selected, values, lambda: place)
    return selected


def _chosen(condition: Array | bool, new: Any, best: Any) -> Any:
    """Return one of two numbers, or of two tuples of them, by a condition, without a branch."""
    known = condition.known() if isinstance(condition, Array) else condition
    if known is not None:
        return new if known else best
    if isinstance(new, tuple):
        parts = [_chosen(condition, *pair) for pair in zip(new, best, strict=True)]
        return type(new)(*parts) if hasattr(new, "_fields") else type(new)(parts)
    selected = FUNCTIONS[np.where](Array(HOOKS.scalar_condition(condition)), new, best)
    number = Array(selected.value, weak=is_weak(best) and is_weak(new), scalar=True)
    note_classes(number, [best, new])
    HOOKS.note_choice(number, [best, new], lambda: op.Cast(condition, to=np.int64))
    return number


def _itself(value: Any) -> Any:
    return value


def _sorted(values: Any, *, key: Any = None, reverse: Any = False) -> Any:
    listed = list(values)
    keys = listed if key is None else [key(v) for v in listed]
    is_known = not any(isinstance(k, Array) for k in keys)
    if is_known or not are_numbers(keys) or not may_be_chosen(listed):
        return [listed[k] for k in sorted(range(len(listed)), key=keys.__getitem__, reverse=reverse)]
    onward = -1 if reverse else 1  # reversed before and after, so that equal ones stay in order
    order = FUNCTIONS[np.argsort](FUNCTIONS[np.stack](keys[::onward]), kind="stable")
    return chosen(listed[::onward], [order[k] for k in range(len(listed))])[::onward]


def _of_conditions(decides: bool, combined: np.ufunc) -> Function:
    """Return `all` or `any`: all traced conditions combined to one. A known one that `decides` ends it, as in Python.

    If evaluating further elements would be visible, none is taken after a traced condition.
    """
    original = any if decides else all

    def call(values: Iterable[Any]) -> Any:
        is_alone = sys.getrefcount(values) <= _HELD_ONCE
        if not HOOKS.may_exhaust(values, is_alone):
            return original(values)
        unknown: list[Array] = []
        for value in values:
            if isinstance(value, Array) and value.known() is None:
                unknown.append(Array(HOOKS.scalar_condition(value)))
            elif bool(value) is decides:
                return decides
        return Array(functools.reduce(combined, unknown).value, weak=True) if unknown else not decides

    return call


def _references(value: Any) -> int:
    return sys.getrefcount(value)


_HELD_ONCE = Substitute(_references, _references)(object())
"""The reference count of an object that only the call of a substitute holds."""


def _answering(kinds: Any) -> Any:
    """Return classes, or their substitutes for `isinstance`: traced rotations are instances of SciPy's class."""
    return tuple(map(_answering, kinds)) if isinstance(kinds, tuple) else substitute_of(kinds)


def is_instance(x: Any, kinds: Any) -> bool:
    """Return `isinstance(x, kinds)`; a traced array counts as an instance of NumPy's class and its abstract bases."""
    if not isinstance(x, Array):
        return isinstance(x, _answering(kinds))
    if builtins.type(kinds) is builtins.type(typing.Sized):
        kinds = typing.get_origin(kinds)
    is_union = typing.get_origin(kinds) in {typing.Union, UnionType}
    each = kinds if isinstance(kinds, tuple) else typing.get_args(kinds) if is_union else None
    if each is not None:
        return any(is_instance(x, kind) for kind in each)
    asks = getattr(builtins.type(kinds), "__instancecheck__", None)
    if asks is not type.__instancecheck__ and asks is not ABCMeta.__instancecheck__:
        return isinstance(x, kinds)
    return kinds in Array.__mro__[:-1] or issubclass(numpys_class(x), kinds)


def _type(*args: Any, **options: Any) -> Any:
    """Return `type(x)`, which is NumPy's class for a traced array; `type` with more arguments creates a class."""
    if len(args) == 1 and not options:
        (value,) = args
        return numpys_class(value) if isinstance(value, Array) else builtins.type(value)
    return builtins.type(*args, **options)


def _has_attribute(x: Any, name: str) -> bool:
    """Return `hasattr(x, name)`; for a traced array, whether NumPy's class has the attribute."""
    return hasattr(numpys_class(x) if isinstance(x, Array) else x, name)


def _attribute(x: Any, name: str, *otherwise: Any) -> Any:
    """Return `getattr(x, name)`; for a traced array, only if NumPy's class has the attribute.

    Raises UnsupportedFunction for an attribute of NumPy's class that traced arrays lack.
    """
    if not isinstance(x, Array):
        return getattr(x, name, *otherwise)
    if not hasattr(numpys_class(x), name):
        if otherwise:
            return otherwise[0]
        raise AttributeError(f"{numpys_class(x).__name__!r} object has no attribute {name!r}")
    try:
        return getattr(x, name)
    except AttributeError as error:
        raise UnsupportedFunction(
            f"{name} of {numpys_class(x).__name__} has no form for traced numbers", place=tracing.user_place()
        ) from error


class NumberOwner:
    """A traced number whose attributes the function reads.

    If the function would catch an AttributeError, the number has only the attributes of NumPy's class; otherwise it
    also has those of a traced array.
    """

    __slots__ = ("_number",)

    def __init__(self, number: Array) -> None:
        object.__setattr__(self, "_number", number)

    def __getattribute__(self, name: str) -> Any:
        number = object.__getattribute__(self, "_number")
        if name == "__class__":
            return numpys_class(number)
        is_lenient = hasattr(number, name) and not tracing.is_caught(AttributeError)
        return getattr(number, name) if is_lenient else _attribute(number, name)


BUILTINS: dict[str, Any] = {
    "len": Substitute(builtins.len, _length),
    "range": Substitute(builtins.range, _range),
    "min": Substitute(builtins.min, _extreme(builtins.min, lambda new, best: new < best, dims.minimum)),
    "max": Substitute(builtins.max, _extreme(builtins.max, lambda new, best: new > best, dims.maximum)),
    "sorted": Substitute(builtins.sorted, _sorted),
    "all": Substitute(builtins.all, _of_conditions(False, np.logical_and)),
    "any": Substitute(builtins.any, _of_conditions(True, np.logical_or)),
    "hasattr": Substitute(builtins.hasattr, _has_attribute),
    "getattr": Substitute(builtins.getattr, _attribute),
    "isinstance": Substitute(builtins.isinstance, is_instance),
    "type": Substitute(builtins.type, _type),
}
"""The substitutes for Python's functions, by name."""
