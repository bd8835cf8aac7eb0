"""Staged rules: a builder returns the rule, once for each call site and signature."""

import functools
import threading
from collections.abc import Callable
from typing import Any, cast

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.caching.counters import Counters
from primsplit.ir.caching.fingerprint import Same, fingerprint, watched_fingerprint
from primsplit.ir.caching.once import Turns
from primsplit.ir.errors import RuleError
from primsplit.tracing import trees
from primsplit.tracing.asarray import as_array
from primsplit.tracing.calls.contracts import called_with

Function = Callable[..., Any]
Site = tracing.Instruction | None
_READING = threading.RLock()


def call_site() -> Site:
    """Return the user's call that is running: its code object, and the instruction in it.

    Two calls on one line are two sites; a call in a loop, or in a function that is called repeatedly, is one.
    """
    return tracing.user_instruction()


class Staged:
    """A rule that a builder returns: see `rrule`. The rule built for one call site is used at no other.

    A change of what the builder reads runs it again, but not a change that it makes itself. It runs outside of the
    trace that needs its rule: functions that it calls on arrays return arrays. Each rule that it returns is wrapped in
    `finished`.
    """

    def __init__(self, build: Function, finished: Callable[[Function], Function] | None = None) -> None:
        functools.update_wrapper(cast("Any", self), build, updated=())
        self.build = build
        self.finished = finished
        self.built: dict[Any, Function] = {}
        self.version = 0
        self.turns = Turns()
        self.is_reading = True
        self.read, self.unchanged = watched_fingerprint(build)
        self.is_reading = False

    def depends_on(self) -> tuple[Any, ...]:
        """Return the builder and how often what it reads has changed, not the rules built so far.

        A builder that reads the primitive whose rule it builds reads itself there: that counts as its identity only.
        """
        with _READING:
            return (Same(self.build),) if self.is_reading else (Same(self.build), self.current_version())

    def current_version(self) -> int:
        """Return how often something that the builder reads was changed, by others than itself."""
        with _READING:
            known = self.read
            if self._look() != known:
                self.version += 1
                self.built.clear()
            return self.version

    def _look(self) -> Any:
        """Return the fingerprint of what the builder reads now."""
        with _READING:
            self.is_reading = True
            try:
                if not self.unchanged:
                    self.read, self.unchanged = watched_fingerprint(self.build)
            finally:
                self.is_reading = False
            return self.read

    def at(self, site: Site) -> Function:
        """Return the rule of the calls at one site."""
        return functools.partial(self._run, site)

    def _run(self, site: Site, /, *args: Any, **static: Any) -> Any:
        """Call the rule for these arguments, built first if need be."""
        leaves, spec = trees.flatten((args, static))
        types = [Type(as_array(x).dtype, as_array(x).type.shape) if trees.is_array(x) else x for x in leaves]
        signature = tuple(t if isinstance(t, Type) else fingerprint(t) for t in types)
        key = (site, spec, signature, self.current_version())
        with self.turns.turn(key):
            rule = self.built.get(key)
            if rule is None:
                given, named = trees.unflatten(spec, types)
                rule = self.built[key] = self._made(given, named)
        return rule(*args, **static)

    def _made(self, args: Any, static: Any) -> Function:
        """Run the builder and return its rule. What it keeps is for every trace, so it runs outside of this one."""
        Counters.builds += 1
        told = f"the builder {getattr(self.build, '__name__', '')}"
        with tracing.fresh_stack():
            rule: Function = called_with(self.build, told, "It takes the arguments of the primitive.", *args, **static)
        if not callable(rule):
            raise RuleError(
                f"{told} returned a {type(rule).__name__}, which is no rule",
                place=tracing.defined_at(self.build),
                cure="A builder returns the rule, a function of the primitive's arguments.",
            )
        self._look()
        return rule if self.finished is None else self.finished(rule)
