"""Calls copies of the methods that Python calls for operators, elements, iterations and attributes.

`a + b` calls `type(a).__add__` directly. If that is a function of the user's, or of a library's that has a substitute,
the operator calls its copy or substitute by Python's own protocol. In all other cases Python evaluates the expression.

    a + b       ->      type(a).__add__'s copy, then type(b).__radd__'s copy, in Python's order
"""

import functools
import operator
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from primsplit.frontends.python.converter.copies import ABSENT, HEAP, Conversion, static
from primsplit.tracing import managers
from primsplit.tracing.branching.users_errors import asked_by_compiled
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.undo_log import note_attribute

REFLECTED = {
    "add": "radd", "sub": "rsub", "mul": "rmul", "matmul": "rmatmul", "truediv": "rtruediv", "mod": "rmod",
    "pow": "rpow", "lshift": "rlshift", "rshift": "rrshift", "or": "ror", "xor": "rxor", "and": "rand",
    "floordiv": "rfloordiv", "eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le",
}  # fmt: skip
"""The special method of the right operand, by that of the left operand."""


def two_operands(conversion: Conversion, name: str, python: Callable[..., Any], left: Any, right: Any) -> Any:
    """Return `left + right` for the method `add`, by copies if a method of either operand has one."""
    kinds = type(left), type(right)
    own, reflected = f"__{name}__", f"__{REFLECTED[name]}__"
    if conversion.changed(kinds[0], own) is None and conversion.changed(kinds[1], reflected) is None:
        return python(left, right)
    for operand, method, other in _in_order(kinds, left, right, own, reflected):
        call = conversion.changed(type(operand), method) or getattr(type(operand), method, None)
        if call is not None and (result := call(operand, other)) is not NotImplemented:
            return result
    return python(_Refusing(left), _Refusing(right)) if name in {"eq", "ne"} else python(left, right)


def _in_order(
    kinds: tuple[type, type], left: Any, right: Any, own: str, reflected: str
) -> Iterator[tuple[Any, str, Any]]:
    """Yield the operands and methods in Python's order: a right operand of a derived class may come first."""
    first, second = (left, own, right), (right, reflected, left)
    is_derived = kinds[1] is not kinds[0] and issubclass(kinds[1], kinds[0])
    if is_derived and static(kinds[1], reflected) is not static(kinds[0], reflected):
        first, second = second, first
    yield first
    if kinds[0] is not kinds[1] or own in {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}:
        yield second


class _Refusing:
    """An operand that equals only itself, as in Python if neither operand implements the comparison."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Refusing) and self.value is other.value

    __hash__ = object.__hash__


def in_place(conversion: Conversion, name: str, python: Callable[..., Any], left: Any, right: Any) -> Any:
    """Return the new value of the name in `left += right` for the method `add`."""
    call = conversion.changed(type(left), f"__i{name}__")
    if call is not None and (result := call(left, right)) is not NotImplemented:
        return result
    if call is None and static(type(left), f"__i{name}__") is not ABSENT:
        return python(left, right)
    return two_operands(conversion, name, python, left, right)


def one_operand(conversion: Conversion, name: str, python: Callable[..., Any], value: Any) -> Any:
    """Return `-value` for the method `neg`."""
    call = conversion.changed(type(value), f"__{name}__")
    return python(value) if call is None else call(value)


def contains(conversion: Conversion, value: Any, holder: Any) -> Any:
    """Return `value in holder`."""
    call = conversion.changed(type(holder), "__contains__")
    return operator.contains(holder, value) if call is None else bool(call(holder, value))


def iterated(conversion: Conversion, value: Any) -> Any:
    """Return the iterable for a loop over an object with the user's own iteration methods."""
    begin = conversion.changed(type(value), "__iter__")
    steps = value if begin is None else begin(value)
    step = conversion.changed(type(steps), "__next__")
    if step is not None and (begin is not None or static(type(value), "__iter__") is not ABSENT):
        return _Steps(functools.partial(step, steps))
    if begin is None and static(type(value), "__iter__") is ABSENT:
        element = conversion.changed(type(value), "__getitem__")
        return value if element is None else _elements(functools.partial(element, value))
    return steps


class _Steps:
    """An iterator defined by its step function."""

    def __init__(self, step: Callable[[], Any]) -> None:
        self._step = step

    def __iter__(self) -> "_Steps":
        return self

    def __next__(self) -> Any:
        return self._step()


def _elements(element: Callable[[int], Any]) -> Iterator[Any]:
    place = 0
    while True:
        try:
            value = element(place)
        except IndexError:
            return
        yield value
        place += 1


class Managed:
    """A context manager; it suppresses no error by which a compiled function refused a traced value."""

    def __init__(self, value: Any, enter: Callable[[], Any], leave: Callable[..., Any]) -> None:
        self._value, self._enter, self._leave = value, enter, leave

    def __enter__(self) -> Any:
        result = self._enter()
        managers.entered(frame_out(1), self._value)
        return result

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> Any:
        managers.left(self._value)
        is_suppressed = self._leave(kind, error, trace)
        if error is not None and is_suppressed and (asked := asked_by_compiled(error)) is not None:
            raise asked from error
        return is_suppressed


def managed(conversion: Conversion, value: Any) -> Any:
    """Return the context manager of a `with` statement."""
    kind = type(value)
    if not (hasattr(kind, "__enter__") and hasattr(kind, "__exit__")):
        return value  # Python's own error tells so
    enter, leave = conversion.changed(kind, "__enter__"), conversion.changed(kind, "__exit__")
    return Managed(
        value,
        functools.partial(enter or kind.__enter__, value),
        functools.partial(leave or kind.__exit__, value),
    )


class Indexed:
    """An object whose elements are read and written by methods of the user's."""

    def __init__(self, conversion: Conversion, value: Any) -> None:
        self._conversion, self._value = conversion, value

    def __getitem__(self, key: Any) -> Any:
        call = self._conversion.changed(type(self._value), "__getitem__")
        return self._value[key] if call is None else call(self._value, key)

    def __setitem__(self, key: Any, new: Any) -> None:
        call = self._conversion.changed(type(self._value), "__setitem__")
        if call is None:
            self._value[key] = new
        else:
            call(self._value, key, new)

    def __delitem__(self, key: Any) -> None:
        call = self._conversion.changed(type(self._value), "__delitem__")
        if call is None:
            del self._value[key]
        else:
            call(self._value, key)


_ELEMENTS = ("__getitem__", "__setitem__", "__delitem__")


def has_own_elements(conversion: Conversion, kind: type) -> bool:
    """Whether a method of a class that reads or writes elements is a copy or a substitute."""
    return any(conversion.changed(kind, name) is not None for name in _ELEMENTS)


class Owner:
    """An object with attributes that functions of the user's compute."""

    __slots__ = ("_conversion", "_value")

    def __init__(self, conversion: Conversion, value: Any) -> None:
        object.__setattr__(self, "_conversion", conversion)
        object.__setattr__(self, "_value", value)

    def __getattribute__(self, name: str) -> Any:
        conversion = object.__getattribute__(self, "_conversion")
        value = object.__getattribute__(self, "_value")
        return attribute(conversion, value, name)

    def __setattr__(self, name: str, new: Any) -> None:
        conversion, value = object.__getattribute__(self, "_conversion"), object.__getattribute__(self, "_value")
        held = static(type(value), name)
        setting = conversion.changed(type(value), "__setattr__")
        if type(held) is property and type(held.fset) is FunctionType and setting is None:
            conversion.copy(held.fset)(value, new)
        elif setting is not None:
            setting(value, name, new)
        else:
            setattr(value, name, new)

    def __delattr__(self, name: str) -> None:
        value = object.__getattribute__(self, "_value")
        delattr(value, name)


def attribute(conversion: Conversion, value: Any, name: str) -> Any:
    """Return an attribute, computed by a copy if a function of the user's computes it."""
    held = static(type(value), name)
    if type(held) is property and type(held.fget) is FunctionType:
        return conversion.copy(held.fget)(value)
    if type(held) is functools.cached_property and name not in getattr(value, "__dict__", {}):
        note_attribute(value, name)
        computed = conversion.copy(held.func)(value)
        value.__dict__[name] = computed
        return computed
    if held is ABSENT and name not in getattr(value, "__dict__", {}):
        finding = conversion.changed(type(value), "__getattr__")
        if finding is not None and conversion.changed(type(value), "__getattribute__") is None:
            return finding(value, name)
    return getattr(value, name)


_COMPUTED = (property, functools.cached_property)


def has_own_attributes(conversion: Conversion, kind: type) -> bool:
    """Whether a class has attributes that functions of the user's compute."""
    key = kind, "the attributes"
    if key not in conversion.special:
        conversion.special[key] = _has_own_attributes(conversion, kind)
    return bool(conversion.special[key])


def _has_own_attributes(conversion: Conversion, kind: type) -> bool:
    if not kind.__flags__ & HEAP or kind.__module__.partition(".")[0] == "primsplit":
        return False
    if any(conversion.changed(kind, name) is not None for name in ("__getattr__", "__setattr__")):
        return True
    values = [v for base in kind.__mro__ if base is not object for v in vars(base).values()]
    # `in` would compare by ==, which the type of a traced array refuses.
    held = [v for v in values if any(type(v) is computed for computed in _COMPUTED)]
    functions = [f for v in held for f in ((v.fget, v.fset) if type(v) is property else (v.func,))]
    return any(type(f) is FunctionType and conversion.copy(f) is not f for f in functions)
