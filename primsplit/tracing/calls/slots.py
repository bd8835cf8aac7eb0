"""Primitives that keep arrays from one call to the next, at each call site its own."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from primsplit.ir import Block
from primsplit.tracing import trees
from primsplit.tracing.calls.primitive import Function, Primitive
from primsplit.tracing.calls.staging import Staged, call_site
from primsplit.tracing.functionlike import name_of
from primsplit.tracing.states import State, slots_of

Initial = Mapping[str, Any] | Callable[..., Mapping[str, Any]]
"""Initial values by name, or a function of the call's arguments that gives them."""


class Keeping(Primitive):
    """A primitive that is given arrays by keyword, writes to them, and finds them so when that line calls it again.

    Each call site has slots of its own: a state `<name>.<slot>` for each, numbered where there are several sites in
    one program. A rule gets them in the same way, and gives no cotangent for them; what it writes to them before it
    returns is kept. What the pullback needs of a call is a capture as always, and not kept here.
    """

    def __init__(
        self, function: Function, name: str, bounded: Callable[[str, Block], Function] | None, initial: Initial
    ) -> None:
        self._given: dict[str, Any] = {"rule": None, "frule": None}
        super().__init__(_giving(function), name, bounded)
        functools.update_wrapper(self, function)
        self.initial = initial
        self.sites: dict[Any, dict[str, State]] = {}

    @property
    def rule(self) -> Any:
        """The rule, which takes the slots in front of the other arguments, and gives them behind its output."""
        return self._given["rule"]

    @rule.setter
    def rule(self, given: Any) -> None:
        self._given["rule"] = _taking(given, _pulling)

    @property
    def frule(self) -> Any:
        """The forward rule, likewise."""
        return self._given["frule"]

    @frule.setter
    def frule(self, given: Any) -> None:
        self._given["frule"] = _taking(given, _pushing)

    def __call__(self, *args: Any, **static: Any) -> Any:
        slots = self._at(call_site(), args, static)
        kept = {name: slot.read() for name, slot in slots.items()}
        result, written = super().__call__(kept, *args, **static)
        for name, value in written.items():
            slots[name][...] = value
        return result

    def _at(self, site: Any, args: tuple[Any, ...], static: Mapping[str, Any]) -> dict[str, State]:
        """The slots of a call site, made when it is first met with initial values of these dtypes and shapes."""
        initial = self.initial(*args, **static) if callable(self.initial) else self.initial
        arrays = {name: np.asarray(value) for name, value in initial.items()}
        key = site, tuple((name, a.dtype, a.shape) for name, a in arrays.items())
        if key not in self.sites:
            self.sites[key] = slots_of(self.name, arrays)
        return self.sites[key]


def _giving(function: Function) -> Function:
    """The function of the slots' values and the arguments, which returns its result and the values behind it."""

    def call(kept: Mapping[str, Any], *args: Any, **static: Any) -> Any:
        own = {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in kept.items()}
        return function(*args, **static, **own), own

    call.__name__ = name_of(function)
    return call


def _taking(given: Any, finished: Callable[[Any, Mapping[str, Any]], Any]) -> Any:
    """A user's rule, or a builder of one, as one that takes the slots first."""
    if given is None:
        return None
    if isinstance(given, Staged):
        build = given.build

        def building(kept: Mapping[str, Any], *args: Any, **static: Any) -> Function:
            return _ruled(build(*args, **static, **kept), finished)

        functools.update_wrapper(building, build)
        return Staged(building, given.finished)
    return _ruled(given, finished)


def _ruled(rule: Function, finished: Callable[[Any, Mapping[str, Any]], Any]) -> Function:
    @functools.wraps(rule)
    def ruled(kept: Mapping[str, Any], *args: Any, **static: Any) -> Any:
        made = rule(*args, **static, **kept)
        is_pair = isinstance(made, tuple) and len(made) == 2 and callable(made[1])
        return ((made[0], kept), finished(made[1], kept)) if is_pair else made

    return ruled


def _pulling(pullback: Function, _: Mapping[str, Any]) -> Function:
    @functools.wraps(pullback)
    def pulling(cotangents: Any) -> tuple[Any, ...]:
        return None, *trees.as_list(pullback(cotangents[0]))

    return pulling


def _pushing(pushforward: Function, kept: Mapping[str, Any]) -> Function:
    @functools.wraps(pushforward)
    def pushing(_: Any, *tangents: Any) -> Any:
        return pushforward(*tangents), dict.fromkeys(kept)

    return pushing
