"""A statement whose two sides are recorded, as one If that gives the names their values."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.branching.exploring import scalar_condition
from primsplit.branching.paths import NotJoined
from primsplit.branching.raising import raising_op
from primsplit.control.branching import choose
from primsplit.control.structure import own_handle
from primsplit.errors import PrimsplitError
from primsplit.ir import walk
from primsplit.joins.containers import chosen, is_container, is_shared, values_of
from primsplit.joins.harmless import UNKNOWN, is_harmless, meaning, what_does_more
from primsplit.joins.rewriting import Join
from primsplit.substitutes.table import ModuleSubstitute, Substitute

Side = Callable[..., tuple[Any, ...]]


class NotAssigned:
    """What a name holds that a side of the statement at `at` leaves without a value. Whatever is done to it refuses."""

    def __init__(self, at: tuple[str, int]) -> None:
        self.at = at

    def refuse(self, *_: Any) -> Any:
        """Raise NotJoined."""
        raise NotJoined(self.at, "a name that it assigns on one side only is read later")


for _name in (
    "__abs__", "__add__", "__and__", "__array__", "__array_ufunc__", "__bool__", "__call__", "__contains__",
    "__divmod__", "__eq__", "__float__", "__floordiv__", "__ge__", "__getattr__", "__getitem__", "__gt__",
    "__index__", "__int__", "__invert__", "__iter__", "__le__", "__len__", "__lt__", "__matmul__", "__mod__",
    "__mul__", "__ne__", "__neg__", "__or__", "__pow__", "__radd__", "__rfloordiv__", "__rmatmul__", "__rmod__",
    "__rmul__", "__round__", "__rpow__", "__rsub__", "__rtruediv__", "__setitem__", "__str__", "__sub__",
    "__truediv__",
):  # fmt: skip
    setattr(NotAssigned, _name, NotAssigned.refuse)


class Statement:
    """A statement that is joined: what its names hold before it, and what each run of a side gives them."""

    def __init__(self, join: Join, frame: FrameType, given: Sequence[Any], true: Side, false: Side) -> None:
        self.join, self.given = join, given
        self.sides = {True: true, False: false}
        self.runs: list[tuple[Sequence[Any], Sequence[Any]]] = []
        names = frame.f_locals
        unknown = join.effects.assigned | join.effects.inner

        def lookup(name: str) -> Any:
            return UNKNOWN if name in unknown else names.get(name, meaning(name, frame.f_globals))

        def given_or_meant(name: str) -> Any:
            value = names.get(name, meaning(name, frame.f_globals))
            return UNKNOWN if is_missing(value) else value

        if (read := what_does_more(join.effects, given_or_meant)) is not None:
            raise self.refusal(f"it reads {read}")
        for callee in sorted(join.effects.calls):
            if not is_harmless(callee, lookup):
                raise self.refusal(f"it calls {'.'.join(callee).lstrip('.')}")
        read_before = map(given_or_meant, join.effects.read - {*join.names})
        self.read = [value for value in read_before if value is not UNKNOWN]
        self._check_writes()

    def refusal(self, why: str) -> NotJoined:
        return NotJoined(self.join.at, why)

    def _check_writes(self) -> None:
        """What is written to is shown under one name alone."""
        written = [v for n, v in zip(self.join.names, self.given, strict=True) if n in self.join.effects.written]
        arrays = [v for v in written if _is_array(v)]
        if not all(_is_array(v) or _is_number(v) or is_missing(v) or is_container(v) for v in written):
            raise self.refusal("it writes to what is no traced array, list or dictionary")
        for container in filter(is_container, written):
            others = [v for v in self.given if v is not container]
            if len(others) < len(self.given) - 1 or is_shared(container, [*others, *self.read]):
                raise self.refusal("it writes to a list or dictionary that other names may show")
        if not arrays:
            return
        others = [v for v in self.given if not any(v is a for a in arrays)]
        leaves = trees.leaves_or_none([*others, *self.read])
        roots = [_root(v) for v in (*leaves, *arrays) if _is_array(v)]
        if len({id(r) for r in roots}) < len(roots) or any(_may_hold_arrays(v) for v in leaves):
            raise self.refusal("it writes to an array that other names may show")

    def joined(self, test: Array) -> tuple[Any, ...]:
        """Record the If; return what the names hold after it."""
        into = tracing.current()
        before = len(into.ops)
        try:
            found = choose(scalar_condition(test), [self._run(False), self._run(True)], ())
        except NotJoined:
            raise
        except PrimsplitError as error:
            raise self.refusal(error.what) from error
        except Exception as error:
            raise self.refusal(f"a side raises {type(error).__name__}: {error}") from error
        sides = (block for made in into.ops[before:] for block in made.blocks())
        if raising_op(itertools.chain.from_iterable(map(walk, sides))) is not None:
            raise self.refusal("a side may raise")  # what a `try` around the statement may catch
        for _, made in self.runs:
            roots = [id(_root(v)) for v in trees.leaves_or_none(list(made)) if _is_array(v)]
            if len({*roots}) < len(roots):
                raise self.refusal("two names show one array")
        return tuple(self._after(k, name, found) for k, name in enumerate(self.join.names))

    def _run(self, which: bool) -> Callable[[], dict[str, Any]]:
        """The side as a function of nothing: the values of its names that are numbers or arrays."""

        def side() -> dict[str, Any]:
            own = [self._own(n, v) for n, v in zip(self.join.names, self.given, strict=True)]
            made = self.sides[which](*own)
            self.runs.append((own, made))
            return {
                n: v for n, v in zip(self.join.names, made, strict=True) if self._is_chosen(n) and self._may_give(n, v)
            }

        side.__name__ = "then" if which else "else"
        return side

    def _own(self, name: str, value: Any) -> Any:
        """What a side has under the name: a handle of its own where it may write to it."""
        if name not in self.join.effects.written:
            return value
        return own_handle(value) if _is_array(value) else value.copy() if is_container(value) else value

    def _may_give(self, name: str, value: Any) -> bool:
        """True for what the If may give the name, or a container that the name had before."""
        is_filled = name in self.join.effects.written and is_container(value)
        return all(map(_is_number, values_of(value))) if is_filled else _is_value(value)

    def _is_chosen(self, name: str) -> bool:
        """False for a name that may be without a value after the statement."""
        return name in self.join.always or not is_missing(self.given[self.join.names.index(name)])

    def _after(self, k: int, name: str, found: Mapping[str, Any]) -> Any:
        made = [after[k] for _, after in self.runs]
        given = self.given[k]
        if not self._is_chosen(name):
            return NotAssigned(self.join.at)
        if name in self.join.effects.written and (_is_array(given) or is_container(given)):
            if any(after[k] is not own[k] for own, after in self.runs):
                raise self.refusal(f"it both writes to {name} and gives it another array")
            if is_container(given):
                if (why := chosen(given, made, found.get(name), is_same)) is not None:
                    raise self.refusal(f"{why}: {name}")
                return given
            given.assign(found[name])
            return given
        if all(is_same(made[0], other) for other in made[1:]):
            return made[0]
        if name not in found:
            raise self.refusal(f"{name} is no number or array")
        return self._unaliased(name, made, found[name])

    def _unaliased(self, name: str, made: Sequence[Any], found: Any) -> Any:
        """The chosen array; where a side gave the name an array that was there before, writing to either is refused."""
        before, leaves = trees.leaves_or_none([*self.given, *self.read]), trees.leaves_or_none(list(made))
        if any(_is_array(v) and v.shape == () for v in leaves):
            raise self.refusal(f"{name} is an array without axes")
        old = {id(v): v for v in leaves if _was_there(v, before)}
        if not old:
            return found
        (base, *others) = old.values()
        if others or type(found) is not Array or not _is_array(base):
            raise self.refusal(f"{name} is one of several arrays, which may be written to later")
        return found.viewing(base, lambda _: found, None)


def _was_there(value: Any, before: Sequence[Any]) -> bool:
    """True for an array from before the statement, and for a view of one."""
    if _is_array(value):
        return tracing.is_open(_root(value).recording)
    return type(value) is np.ndarray and (value.base is not None or any(value is b for b in before))


def _root(array: Array) -> Array:
    while array.view_of is not None:
        array = array.view_of.base
    return array


def is_missing(value: Any) -> bool:
    """True for what a name holds that has no value."""
    return type(value) is NotAssigned


def _is_array(value: Any) -> bool:
    """True for a traced array that can be written to."""
    return type(value) is Array and not value.is_number()


def _is_number(value: Any) -> bool:
    return type(value) is Array or isinstance(value, int | float | complex | np.generic)


def _is_value(value: Any) -> bool:
    """True for what an If may give."""
    if type(value) is tuple:
        return all(map(_is_value, value))
    return _is_number(value) or type(value) is np.ndarray


def _may_hold_arrays(value: Any) -> bool:
    """False for what surely shows no traced array but itself."""
    if isinstance(value, FunctionType):
        return value.__closure__ is not None or bool(value.__defaults__)
    if isinstance(value, BuiltinFunctionType):
        return not isinstance(value.__self__, ModuleType)  # the list whose method it is
    plain = int | float | complex | str | bytes | range | np.generic | np.ndarray | np.ufunc | np.dtype | type | None
    modules = ModuleType | ModuleSubstitute | Substitute
    return not (type(value) is Array or is_missing(value) or isinstance(value, plain | modules))


def is_same(value: Any, other: Any) -> bool:
    """True for one object, and for equal constants of Python's."""
    if value is other:
        return True
    return type(value) is type(other) and type(value) in {int, bool, str, float, complex} and repr(value) == repr(other)
