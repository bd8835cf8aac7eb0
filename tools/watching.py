"""Watches tests: which operators they differentiate, and which NumPy and SciPy functions they trace.

What is watched is wrapped, and the wrappers come between a user's line and the function that the line calls. `_ours`
makes them functions of the package by their file and module, so that their frames do not count as the user's.
"""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable, MutableMapping
from types import FunctionType
from typing import Any, TypeVar, cast

from primsplit import testing, tracing
from primsplit.audit.coverage import name_of, ufunc_name
from primsplit.frontends.python.overrides.served import served_names
from primsplit.frontends.python.overrides.table import Substitute
from primsplit.frontends.scipy.overrides import interpolation, scattered, science, sparse, splines
from primsplit.frontends.scipy.stats import DISTRIBUTIONS
from primsplit.ir import Op, Var, reads, walk
from primsplit.ir.caching.fingerprint import is_library
from primsplit.ir.names import NamedBlock
from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.onnx.definitions.families import DEFINITIONS, Definition
from primsplit.onnx.versions import nodes_of
from primsplit.rules.activity import active_vars
from primsplit.rules.table import BLOCK_RULES, RULES, UNSUPPORTED
from primsplit.tracing import trees
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.asarray import Held
from primsplit.tracing.call_stack import frame_out
from primsplit.tracing.complex_array import ComplexArray

CALL = "call::"
CHECKS = ("check_grads", "check_rrule")
KEYS = ("differentiated", "written", "recorded", "loaded", "checked", "sized", "traced")
Names = dict[str, set[str]]
F = TypeVar("F", bound=Callable[..., Any])


def _ours(wrapper: F) -> F:
    given: Any = wrapper
    code = given.__code__.replace(co_filename=testing.__file__)
    found: Any = FunctionType(code, {**globals(), "__name__": testing.__name__}, closure=given.__closure__)
    return cast(F, found)


class Watcher:
    """The operators and functions seen since `clear`, by these keys.

    `differentiated`: operators that a gradient went through in a check that passed, and operators without a gradient
    that were in a program of one. `written`: operators in a program made for onnxruntime. `recorded`: operators that
    were recorded by their definition. `loaded`: operators of sequences and optional values in models that were loaded
    before a gradient was made. `traced`: functions of NumPy and SciPy that were traced; `checked`: those that second
    derivatives went through in a check that passed; `sized`: those of them that were traced with symbolic sizes there.
    `smooth` is never cleared: the functions that a gradient ever went through.
    """

    def __init__(self) -> None:
        self.seen: Names = {}
        self.smooth: set[str] = set()
        self.checking = 0
        self.order = 0
        self.inside = 0
        self.names: dict[int, list[str]] = {}
        self.served: set[str] = set()
        self.read_away: set[str] = set()
        self.modules = 0
        self.clear()

    def clear(self) -> None:
        """Forget what was seen."""
        self.seen = {key: set() for key in KEYS}
        self.read_away = set()
        if len(sys.modules) != self.modules:
            self.modules = len(sys.modules)
            self.names, self.served = {}, set(served_names())
            for name in (*self.served, *(f"scipy.stats.{d}" for d in DISTRIBUTIONS)):
                self.names.setdefault(id(_loaded(name)), []).append(name)
            self.names.pop(id(None), None)

    def install(self) -> None:
        """Start to watch. Call this before test modules import the checks; it cannot be undone."""
        for name in CHECKS:
            setattr(testing, name, self._check(getattr(testing, name)))
        composition: Any = importlib.import_module("primsplit.transforms.split")._Composition
        composition.run_forward = self._composition(composition.run_forward)
        doors: Any = importlib.import_module("primsplit.programs.doors")
        doors.make_model = self._model(doors.make_model)
        load: Any = importlib.import_module("primsplit.onnx.load")
        load._read = self._reading(load._read)
        calling: Any = importlib.import_module("primsplit.onnx.definitions.calling")
        calling._body = self._definition(calling._body)
        self._table(FUNCTIONS, name_of)
        self._table(ELEMENTWISE, ufunc_name)
        self._table(ALWAYS_COMPLEX, ufunc_name)
        self._substitutes()

    def _check(self, check: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(check)
        @_ours
        def watched(*args: Any, **named: Any) -> Any:
            given = inspect.signature(check).bind(*args, **named)
            given.apply_defaults()
            before = {key: set(names) for key, names in self.seen.items()}
            self.checking, self.order = 1, given.arguments.get("order", 0)
            try:
                return check(*args, **named)
            except BaseException:
                self.seen = before
                raise
            finally:
                self.checking = self.order = 0

        return watched

    def _composition(self, run: Callable[[Any], None]) -> Callable[[Any], None]:
        @_ours
        def watched(composition: Any) -> None:
            self.seen["loaded"] |= self.read_away
            if self.checking:
                self._note_operators(composition)
            run(composition)

        return watched

    def _reading(self, read: Callable[..., Any]) -> Callable[..., Any]:
        @_ours
        def watched(file: Any, proto: Any, *beside: Any, **named: Any) -> Any:
            self.read_away |= {node.op_type for node in nodes_of(proto.graph)} & UNSUPPORTED.keys()
            return read(file, proto, *beside, **named)

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
        @_ours
        def watched(program: NamedBlock, *beside: Any, **named: Any) -> Any:
            self.seen["written"].update(op.kind for op in walk(program.block))
            return make(program, *beside, **named)

        return watched

    def _definition(self, body: Callable[..., Any]) -> Callable[..., Any]:
        @_ours
        def watched(definition: Definition, *args: Any, **named: Any) -> Any:
            if not definition.kind.startswith("primsplit::"):
                self.seen["recorded"].add(definition.kind)
            return body(definition, *args, **named)

        return watched

    def _table(self, table: MutableMapping[Any, Callable[..., Any]], name: Callable[[Any], str]) -> None:
        for key, function in list(table.items()):
            table[key] = self._function(function, name(key))

    def _substitutes(self) -> None:
        """Watch functions that are replaced only where a function is run again; SciPy's by what registers them."""

        @_ours
        def call(substitute: Substitute, *args: Any, **named: Any) -> Any:
            return self._served(substitute.original, functools.partial(given, substitute))(*args, **named)

        @_ours
        def element(substitute: Substitute, key: Any) -> Any:
            return self._served(substitute.original, functools.partial(indexed, substitute))(key)

        given, indexed = Substitute.__call__, Substitute.__getitem__
        watched: Any = Substitute
        watched.__call__, watched.__getitem__ = call, element
        for module in (interpolation, scattered, splines):
            self._methods(module, "scipy.interpolate")
        self._methods(sparse, "scipy.sparse")
        given_to: Any = science
        of_frozen, of_kernels = given_to._of_frozen, given_to._of_kernels
        given_to._of_frozen = lambda method, made, x: self._function(
            functools.partial(of_frozen, method, made), f"scipy.stats.{made.dist.name}.{method}"
        )(x)
        given_to._of_kernels = lambda method, *args, **named: self._function(
            functools.partial(of_kernels, method), "scipy.stats.gaussian_kde"
        )(*args, **named)

    def _methods(self, module: Any, prefix: str) -> None:
        register = module.register_method

        @_ours
        def watched(owner: type, name: str, traced: Callable[..., Any]) -> None:
            @_ours
            def call(self_: Any, *args: Any, **named: Any) -> Any:
                known = (name for c in type(self_).__mro__ if (name := f"{prefix}.{c.__name__}") in self.served)
                return self._function(functools.partial(traced, self_), *known)(*args, **named)

            register(owner, name, call)

        module.register_method = watched

    def _served(self, original: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call; it is noted if `original` is replaced only in a function that is run again."""
        owners = self.names.get(id(getattr(original, "__self__", None)), [])
        names = [f"{owner}.{original.__name__}" for owner in owners] or self.names.get(id(original), [])
        return self._function(call, *names) if names else call

    def _function(self, function: Callable[..., Any], *names: str) -> Callable[..., Any]:
        """The function; a call is noted if the user's program makes it, not a rule or another function."""

        @functools.wraps(function)
        @_ours
        def watched(*args: Any, **named: Any) -> Any:
            in_rule = tracing.is_recording() and tracing.current().place is not None
            if self.inside or not tracing.is_recording() or in_rule or _in_ours():
                return function(*args, **named)
            start, sources = len(tracing.current().ops), _variables((args, named))
            self.inside += 1
            try:
                result = function(*args, **named)
            finally:
                self.inside -= 1
            for name in names:
                self._note(name, start, sources, _variables((result, args)))
            return result

        return watched

    def _note(self, name: str, start: int, sources: list[Var], results: list[Var]) -> None:
        """Note a call that recorded the ops from `start` on."""
        ops = tracing.current().ops
        self.seen["traced"].add(name)
        varying = _varying(ops[:start], sources) if self.checking else set(sources)
        active = active_vars(ops[start:], varying)
        is_smooth = any(v in active and v not in sources for v in results)
        if is_smooth:
            self.smooth.add(name)
        if self.order > 1 and is_smooth:
            self.seen["checked"].add(name)
            if any(not isinstance(d, int) for v in (*sources, *results) for d in v.type.shape or ()):
                self.seen["sized"].add(name)


def _varying(ops: Iterable[Op], wanted: list[Var]) -> set[Var]:
    """The Vars among these that depend on the inputs of the recording."""
    ops = list(ops)
    made = {v for op in ops for v in op.outputs}
    given = {v for op in ops for v in reads(op) if v not in made} | {v for v in wanted if v not in made}
    return active_vars(ops, given) & set(wanted)


def _in_ours() -> bool:
    """Return whether we are inside one of our forms of SciPy's functions, which the user's line called."""
    frame = frame_out(2)
    while (found := frame.f_back) is not None and is_library(module := frame.f_globals.get("__name__", "")):
        if module.startswith("primsplit.frontends.scipy."):
            return True
        frame = found
    return False


def _loaded(name: str) -> Any:
    """Return the object with this dotted name; None if it is not loaded."""
    first, *rest = name.split(".")
    found: Any = sys.modules.get({"np": "numpy"}.get(first, first))
    for part in rest:
        found = getattr(found, part, None)
    return found


def _variables(tree: Any) -> list[Var]:
    """The Vars of the traced arrays in nested arguments; both parts of a complex array.

    A stand-in for an object of SciPy's contributes those of its attributes.
    """
    leaves = trees.flatten(tree)[0]
    held = [list(vars(x).values()) for x in leaves if isinstance(x, Held) and not isinstance(x, Array)]
    arrays = [x for x in (*leaves, *trees.flatten(held)[0]) if isinstance(x, Array)]
    parts = [p for x in arrays for p in (x.parts if isinstance(x, ComplexArray) else (x,)) if p is not None]
    return [p._value for p in parts if isinstance(p._value, Var)]
