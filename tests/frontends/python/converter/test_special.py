"""Methods that Python calls for objects of the user's classes, in copies of functions."""

import dataclasses
import types
from typing import Any

from primsplit.frontends.python.converter.calls import callee
from primsplit.frontends.python.converter.copies import Conversion, Options
from primsplit.frontends.python.converter.operators import OPERATORS


class OfEverything(Conversion):
    """A conversion that copies Python's own library too."""

    def __init__(self) -> None:
        super().__init__(OPERATORS, Options())
        self.count = 0

    def is_convertible(self, function: types.FunctionType) -> bool:
        self.count += 1
        return not (function.__module__ or "").startswith("primsplit")


@dataclasses.dataclass
class Scaled:
    value: float
    factor: dataclasses.InitVar[float] = 2.0
    seen: list[float] = dataclasses.field(default_factory=list)
    kind: str = dataclasses.field(default="scaled", init=False)
    total: float = dataclasses.field(init=False)

    def __post_init__(self, factor: float) -> None:
        self.total = self.value * factor
        self.seen.append(self.total)


@dataclasses.dataclass(frozen=True)
class Fixed:
    value: float
    double: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2.0 * self.value)


class Named(str):
    __slots__ = ("size",)

    def __new__(cls, text: str, size: int) -> "Named":
        made = super().__new__(cls, text.upper())
        made.size = size
        return made


def instances() -> Any:
    made = Scaled(3.0), Scaled(1.0, factor=4.0, seen=[7.0])
    return made, [vars(m) for m in made], Named("ab", 2).size, Named("ab", 2) + "c", Fixed(1.5)


def test_instances_are_made_as_python_makes_them() -> None:
    conversion = OfEverything()
    with conversion.running():
        found = callee(conversion, instances, is_package=False)()
    assert repr(found) == repr(instances())
    copied = [f for f, made in conversion.copies.values() if made is not f]
    assert Scaled.__post_init__ in copied
    assert Named.__new__ in copied
