"""Primitives that keep arrays from one call to the next, separately for each call site.

```
@ps.primitive(state={"last": np.zeros(3)})
def solve(a, b, last):
    last[...] = solution = newton(a, b, start=last)    # the next call of this line starts there
    return solution
```
"""

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
"""Initial values by name, or a function of the call's arguments that returns them."""


class Keeping(Primitive):
    """A primitive that gets arrays by keyword, writes to them, and gets them back when the same line calls it again.

    Each call site has slots of its own: a state `<name>.<slot>` for each, numbered if one program has several sites. A
    rule gets them in the same way, and returns no cotangent for them; what it writes to them before it returns is kept.
    What the pullback needs of a call is a capture as always, and not kept here.
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
        """The rule, which takes the slots before the other arguments, and returns them after its output."""
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
        """Return the slots of a call site, created at its first call with initial values of these dtypes and shapes."""
        initial = self.initial(*args, **static) if callable(self.initial) else self.initial
        arrays = {name: np.asarray(value) for name, value in initial.items()}
        key = site, tuple((name, a.dtype, a.shape) for name, a in arrays.items())
        if key not in self.sites:
            self.sites[key] = slots_of(self.name, arrays)
        return self.sites[key]


def _giving(function: Function) -> Function:
    """Return a function of the slots' values and the arguments, which returns its result and the new values."""

    def call(kept: Mapping[str, Any], *args: Any, **static: Any) -> Any:
        own = {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in kept.items()}
        return function(*args, **static, **own), own

    call.__name__ = name_of(function)
    return call


def _taking(given: Any, finished: Callable[[Any, Mapping[str, Any]], Any]) -> Any:
    """Return a user's rule, or a builder of one, as one that takes the slots first."""
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
        returned = rule(*args, **static, **kept)
        is_pair = isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1])
        return ((returned[0], kept), finished(returned[1], kept)) if is_pair else returned

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
