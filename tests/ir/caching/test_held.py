"""The parts of objects: contents, attributes, slots, also of Python's own objects."""

import array
import collections
import contextvars
import ctypes
import dataclasses
import types
import weakref
from typing import Any

import pytest

from primsplit.ir.caching.held import (
    HOLDING,
    attribute_of,
    attributes,
    function_in,
    held_by,
    held_in,
    is_all_in_dict,
    is_written_by_python,
)


class Target:
    """An object to refer to."""


TARGET = Target()
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("of the test")


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (bytearray(b"ab"), [b"ab"]),
        (memoryview(b"cd"), [b"cd"]),
        (array.array("b", [1, 2]), [b"\1\2"]),
        (collections.deque([1, 2]), [1, 2]),
        (types.MappingProxyType({"a": 1, "b": 2}), ["a", "b", 1, 2]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        ({"a": 1}.items(), [("a", 1)]),
        (VARIABLE, [None]),
        (weakref.ref(TARGET), [TARGET]),
    ],
)
def test_contents_of_pythons_own_objects(value: Any, held: list[Any]) -> None:
    assert isinstance(value, HOLDING)
    assert held_in(value) == held


def test_a_variable_of_a_context_holds_its_value_and_memory_of_c_its_bytes() -> None:
    token = VARIABLE.set(7)
    assert held_in(VARIABLE) == [7]
    VARIABLE.reset(token)
    number = ctypes.c_int32(5)
    before = held_in(number)
    assert before[0] == (5).to_bytes(4, "little")
    number.value = 6
    assert held_in(number) != before


class Slotted:
    """An object with slots, one of a private name and one that is not set."""

    __slots__ = ("__hidden", "shown", "unset")

    def __init__(self) -> None:
        self.shown, self.__hidden = 1, 2


class Both(Slotted):
    """An object with slots of its class and a dictionary of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.more = 3


def test_attributes_are_those_of_slots_and_of_the_dictionary() -> None:
    assert attributes(Slotted()) == {"_Slotted__hidden": 2, "shown": 1}
    assert attributes(Both()) == {"_Slotted__hidden": 2, "shown": 1, "more": 3}
    assert attributes(object()) is None
    assert attributes(5) is None
    assert held_by(Both()) == ["_Slotted__hidden", "shown", "more", 2, 1, 3]


def test_an_attribute_is_read_without_the_users_getattr() -> None:
    class Asked:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    assert attribute_of(Asked(), "shape") is None
    assert attribute_of(Slotted(), "shown") == 1
    assert attribute_of(Slotted(), "missing") is None


def test_the_function_behind_a_member() -> None:
    def f(_: Any) -> None: ...

    for member in (property(f), staticmethod(f), classmethod(f), types.MethodType(f, 1), f):
        assert function_in(member) is f


def test_code_that_python_wrote_is_that_of_a_dataclass_and_not_of_the_user() -> None:
    @dataclasses.dataclass
    class Own:
        x: int

    assert is_written_by_python(Own.__init__.__code__)
    assert not is_written_by_python(Both.__init__.__code__)
    assert not is_written_by_python(eval("lambda: 0").__code__)
    for name, is_pythons in (("__own__", True), ("__own", False), ("own__", False)):
        held: dict[str, Any] = {}
        exec(compile(f"def {name}(): pass", "<string>", "exec"), held)
        assert is_written_by_python(held[name].__code__) == is_pythons


def test_a_plain_object_has_all_in_its_dictionary() -> None:
    class Own:
        def __getattribute__(self, name: str) -> Any:
            return object.__getattribute__(self, name)

    assert is_all_in_dict(Target())
    assert not is_all_in_dict(Both())
    assert not is_all_in_dict(Own())
    assert not is_all_in_dict(5)
