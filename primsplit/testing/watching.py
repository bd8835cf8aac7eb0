"""Watch tests: which operators they differentiate, and which NumPy and SciPy functions they trace.

This is a module of the package so that its frames, which come between a user's line and the function that the line
calls, are none of the user's.
"""

import functools
import importlib
from collections.abc import Callable, MutableMapping
from typing import Any

from primsplit import testing, tracing, trees
from primsplit.activity import active_vars
from primsplit.array import FUNCTIONS, HOOKS, Array
from primsplit.coverage import name_of, ufunc_name
from primsplit.definitions.families import DEFINITIONS, Definition
from primsplit.ir import Var, walk
from primsplit.names import NamedBlock
from primsplit.numpy.complex.handle import ComplexArray
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.rules.table import BLOCK_RULES, RULES

CALL = "call::"
CHECKS = ("check_grads", "check_rrule")
Names = dict[str, set[str]]


class Watcher:
    """What was seen since `clear`, by these keys.

    `differentiated`: operators that a gradient went through in a check that passed, and operators without a gradient
    that were in a program of one. `written`: operators that were part of a program made for onnxruntime. `checked`:
    functions of NumPy that a check that passed has traced a call of; `traced`: those that were traced at all.
    `recorded`: operators that were recorded by their definition.
    `smooth` is kept: the functions that a gradient ever went through.
    """

    def __init__(self) -> None:
        self.seen: Names = {}
        self.smooth: set[str] = set()
        self.checking = 0
        self.inside = 0
        self.clear()

    def clear(self) -> None:
        """Forget what was seen."""
        self.seen = {key: set() for key in ("differentiated", "written", "recorded", "checked", "traced")}

    def install(self) -> None:
        """Watch from now on. To be called before test modules import the checks; it cannot be undone."""
        for name in CHECKS:
            setattr(testing, name, self._check(getattr(testing, name)))
        composition: Any = importlib.import_module("primsplit.split")._Composition
        composition.run_forward = self._composition(composition.run_forward)
        doors: Any = importlib.import_module("primsplit.doors")
        doors.make_model = self._model(doors.make_model)
        calling: Any = importlib.import_module("primsplit.definitions.calling")
        calling._body = self._definition(calling._body)
        self._table(FUNCTIONS, name_of)
        self._table(ELEMENTWISE, ufunc_name)

    def _check(self, check: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(check)
        def watched(*args: Any, **named: Any) -> Any:
            before = {key: set(names) for key, names in self.seen.items()}
            self.checking += 1
            try:
                return check(*args, **named)
            except BaseException:
                self.seen = before
                raise
            finally:
                self.checking -= 1

        return watched

    def _composition(self, run: Callable[[Any], None]) -> Callable[[Any], None]:
        def watched(composition: Any) -> None:
            if self.checking:
                self._note_operators(composition)
            run(composition)

        return watched

    def _note_operators(self, composition: Any) -> None:
        for op in composition.block.ops:
            kind = op.kind.removeprefix(CALL)
            entry = RULES.get(op.kind)
            is_ours = kind.startswith("primsplit::")
            if is_ours or (entry is None and kind not in DEFINITIONS and kind not in BLOCK_RULES):
                continue
            is_discrete = entry is not None and entry.form == "no_gradient"
            if is_discrete or any(v in composition.needed for v in op.outputs):
                self.seen["differentiated"].add(kind)

    def _model(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def watched(named: NamedBlock, *beside: Any) -> Any:
            self.seen["written"].update(op.kind for op in walk(named.block))
            return make(named, *beside)

        return watched

    def _definition(self, body: Callable[..., Any]) -> Callable[..., Any]:
        def watched(definition: Definition, *args: Any) -> Any:
            if not definition.kind.startswith("primsplit::"):
                self.seen["recorded"].add(definition.kind)
            return body(definition, *args)

        return watched

    def _table(self, table: MutableMapping[Any, Callable[..., Any]], name: Callable[[Any], str]) -> None:
        for key, function in list(table.items()):
            if key not in HOOKS:
                table[key] = self._function(function, name(key))

    def _function(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The function, noted where the user's program calls it: not in a rule, nor inside of another one."""

        @functools.wraps(function)
        def watched(*args: Any, **named: Any) -> Any:
            if self.inside or not tracing.is_recording() or tracing.current().place is not None:
                return function(*args, **named)
            start, sources = len(tracing.current().ops), _variables((args, named))
            self.inside += 1
            try:
                result = function(*args, **named)
            finally:
                self.inside -= 1
            self.seen["traced"].add(name)
            if self.checking:
                self.seen["checked"].add(name)
            active = active_vars(tracing.current().ops[start:], sources)
            if any(v in active and v not in sources for v in _variables((result, args))):
                self.smooth.add(name)
            return result

        return watched


def _variables(tree: Any) -> list[Var]:
    """The Vars that the traced arrays in nested arguments stand for, a complex one for those of its parts."""
    arrays = [x for x in trees.flatten(tree)[0] if isinstance(x, Array)]
    parts = [p for x in arrays for p in (x.parts if isinstance(x, ComplexArray) else (x,)) if p is not None]
    return [p._value for p in parts if isinstance(p._value, Var)]
