"""Keep a function as one op in the program: `primitive`, and `rrule`, which sets its derivative rule.

```
@ps.primitive
def softsign(x):                      e = call::softsign(x)
    return x / (1 + np.abs(x))  ->      body = softsign(a): b = Abs(a); c = Add(1.0, b); d = Div(a, c); return d
```
"""

import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

from primsplit import tracing
from primsplit.ir import NOWHERE, Block, Op, Var, free, own_symbols
from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.ir.caching.limited import Limited
from primsplit.ir.errors import Place, RuleError, TraceError
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import is_settled
from primsplit.tracing.calls.flat_rules import FlatForward, FlatRule, settled
from primsplit.tracing.calls.recorded import StandIn, merged, record_call
from primsplit.tracing.calls.staging import Site, Staged, call_site
from primsplit.tracing.functionlike import FunctionLike, name_of, require_function
from primsplit.tracing.registering import check_takes_arguments_of, claim, module_of

Function = Callable[..., Any]

MOST_BODIES = 1024
"""The most signatures of one primitive whose bodies are cached; sizes that depend on data make new ones without end."""


class Primitive(FunctionLike):
    """A function that is recorded as one op, `call::name`, with its traced program inside.

    It is differentiated by its rule if it has one, else through its program. Array arguments (nested ones too) are the
    op's inputs; all other arguments are static. Called outside of a trace it is the plain function. `bounded` builds
    the rule of one that stays a call through derivatives: see `boundaries.primitive`. With `takes_complex` its rules
    take complex arrays too; those of this package's own primitives are for real ones.
    """

    def __init__(
        self, function: Function, name: str = "", bounded: Callable[[str, Block], Function] | None = None
    ) -> None:
        require_function(function)
        functools.update_wrapper(self, function)
        self.bounded = bounded
        self.takes_complex = False
        self.function = function
        self.name = name or name_of(function)
        self.rule: Function | Staged | None = None
        self.frule: Function | Staged | None = None
        self.transposed: Callable[[FlatForward], Function] | None = None
        self.batched: Callable[..., Any] | None = None
        """Makes of a call's arguments and structures what stands for it in a batch."""
        self.is_named = False
        """Whether listings show a call by its name and static arguments alone: see `named`."""
        self.is_listed = False
        """Whether the nodes of a call in a file say which call they are of: see `listed`."""
        self.bodies: Limited[Any, tuple[Block, trees.TreeSpec]] = Limited(MOST_BODIES)

    @property
    def called(self) -> tuple[Function, ...] | None:
        """The functions that a call calls: its function; when and how often a rule runs is not defined."""
        return (self.function,)

    def __copy__(self) -> "Primitive":
        """Return the primitive itself, as for a function: its rules are registered for it."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Primitive":
        """Return the primitive itself, as for a function.

        For a method of an object that is copied, the copy's method.
        """
        function = copy.deepcopy(self.function, memo)
        if function is self.function:
            return self
        if self.origin is None:
            copied = type(self)(function, self.name, self.bounded)
        else:
            make, args, named = self.origin
            copied = make(*copy.deepcopy(args, memo), **named)
        copied.takes_complex, copied.transposed = self.takes_complex, self.transposed
        copied.batched, copied.is_named, copied.is_listed = self.batched, self.is_named, self.is_listed
        rules = self.rule, self.frule
        copied.rule, copied.frule = (copy.deepcopy(r, memo) if isinstance(r, MethodType) else r for r in rules)
        return copied

    def depends_on(self) -> tuple[Any, ...]:
        """Return what its behaviour depends on, without the bodies traced so far."""
        return self.name, self.function, self.rule, self.frule, self.batched

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}"

    def __call__(self, *args: Any, **static: Any) -> Any:
        if not tracing.is_recording():
            given, named = trees.owned((args, static))
            return self.function(*given, **named)
        leaves, spec = (trees.flatten if self._is_for_real() else trees.in_parts)((args, static))
        arrays = [as_array(x) if trees.is_array(x) else None for x in leaves]
        body, outer, result_spec = self._body(leaves, arrays, spec)
        inputs = [a.value for a in arrays if a is not None]
        site = call_site() if isinstance(self.rule, Staged) or isinstance(self.frule, Staged) else None
        attributes = self.attributes(body, leaves, spec, result_spec, site)
        outputs = tracing.emit_call(self.name, body, (*inputs, *outer), attributes)
        return trees.unflatten(result_spec, [Array(v) for v in outputs])

    def ruled(self) -> None:
        """Note that a rule was set: bodies are traced again, and constructing it again would lose the rule."""
        self.bodies.clear()
        self.origin = None

    def _is_ruled(self) -> bool:
        """Whether it has a rule of its own."""
        return self.rule is not None or self.frule is not None or self.batched is not None

    def _is_for_real(self) -> bool:
        """Whether its rule is for real arrays only: a complex argument is then refused."""
        return self._is_ruled() and not self.takes_complex

    def attributes(
        self,
        body: Block,
        leaves: Sequence[Any],
        spec: trees.TreeSpec,
        result_spec: trees.TreeSpec,
        site: Site = None,
    ) -> dict[str, Any]:
        """Return a call's attributes: its body, and the rules for arguments and results of these structures.

        `site` is its call site, which matters to rules that a builder builds.
        """
        held: dict[str, Any] = {"body": body}
        results = [r.type for r in body.results]
        if self.rule is not None:
            held["rule"] = FlatRule(self, leaves, spec, result_spec, results, site)
        if self.frule is not None:
            forward = held["frule"] = FlatForward(self, leaves, spec, result_spec, results, site)
            if self.rule is None and self.transposed is not None:
                held["rule"] = self.transposed(forward)
        if self.batched is not None:
            held["batch"] = self.batched(self, leaves, spec, result_spec, results, site)
        if self.bounded is not None:
            held["inline"] = False
            held.setdefault("rule", self.bounded(self.name, body))
        return held

    def _body(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        """Return the traced program, with its captures as further parameters.

        The captures; and the result's structure.
        """
        key = _body_key(self.function, leaves, arrays, spec)
        known = self.bodies.get(key)
        if known is not None:
            return known[0], [], known[1]
        body, outer, result_spec = self._traced(leaves, arrays, spec)
        if is_for_every_use(body, outer):
            self.bodies[key] = (body, result_spec)
        return body, outer, result_spec

    def _traced(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        """Trace the program, with its captures as further parameters.

        Return it, the captures and the result's structure.
        """
        body, result_spec = trace_body(self.name, self.function, leaves, arrays, spec)
        outer = free(body)
        if outer and self._is_ruled():
            body, result_spec = self._alone(leaves, arrays, spec)
            outer = free(body)
        body = _without_line(body, tracing.current().place or tracing.user_place())
        return Block(body.name, (*body.params, *outer), body.ops, body.results), list(outer), result_spec

    def _alone(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, trees.TreeSpec]:
        """Trace the program so that it reads sizes from its own arguments, also those that were read around the call.

        Raises TraceError if it reads a traced value that is no argument.
        """
        try:
            return trace_body(self.name, self.function, leaves, arrays, spec, alone=True)
        except TraceError:
            raise TraceError(
                f"{self.name} has a rule of its own and reads a traced value that is not an argument",
                place=tracing.user_place(),
                cure="Pass it as an argument, so that the rule can give it a cotangent.",
            ) from None


def _without_line(body: Block, here: Place | None) -> Block:
    """Return the body of a call at this line; ops recorded there get the line of each call instead."""
    if here is None:
        return body

    def at_call(op: Op) -> Op:
        made = op.with_blocks(lambda block: _without_line(block, here))
        is_here = made.place is not None and made.place.whole_line == here.whole_line
        return replace(made, place=NOWHERE) if is_here else made

    return Block(body.name, body.params, tuple(map(at_call, body.ops)), body.results)


def is_for_every_use(body: Block, outer: Sequence[Var]) -> bool:
    """Whether the body serves any call of its signature: it depends on nothing around the call."""
    return not outer and not own_symbols(body) and not is_settled(body)


def trace_body(
    name: str,
    function: Function,
    leaves: Sequence[Any],
    arrays: Sequence[Array | None],
    spec: trees.TreeSpec,
    *,
    alone: bool = False,
) -> tuple[Block, trees.TreeSpec]:
    """Return the block of a call of `function` whose array leaves are parameters, and the structure of its result.

    With `alone` it is recorded as if nothing else were being traced.
    """

    def call(handles: list[Array]) -> Any:
        args, static = trees.unflatten(spec, merged(leaves, arrays, handles))
        return function(*args, **static)

    given = [StandIn.of(a) for a in arrays if a is not None]
    if not alone:
        return record_call(name, given, call)
    explores = tracing.current().explores
    with tracing.fresh_stack(), tracing.recording(explores=explores):
        return record_call(name, [g._replace(value=None) for g in given], call)


def _body_key(function: Function, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec) -> Any:
    """Return a key for the body: the types of arrays, the contents of static arguments, what the function reads."""
    static = tuple(fingerprint(x) for x, a in zip(leaves, arrays, strict=True) if a is None)
    types = tuple(None if a is None else (a.type.key, StandIn.of(a).kind) for a in arrays)
    return spec, static, types, fingerprint(function), tracing.current().explores


def primitive(function: Function) -> Any:
    """Make a library's function one op of the program. Users' functions are wrapped by `boundaries.primitive`."""
    return Primitive(function)


def listed(function: Function) -> Any:
    """Make a library's function one op, whose nodes in a file say which call they are of: listings show one line."""
    made = Primitive(function)
    made.is_listed = True
    return made


def rrule(
    target: Primitive, *, staged: bool = False, first_order_only: bool = False, replace: bool = False
) -> Callable[[Function], Function]:
    """Set a primitive's reverse rule: see `tangents.rrules.rrule`, the public name, which takes operators too.

    Raises RuleError for a target that is no primitive, and what `check_rule` does.
    """
    check_primitive(target, "rrule")

    def register(rule: Function) -> Function:
        check_rule(target, target.rule, rule, "rule", replace=replace)
        finished = functools.partial(FirstOrder, target.name) if first_order_only else None
        target.rule = Staged(rule, finished) if staged else rule if finished is None else finished(rule)
        target.ruled()
        return rule

    return register


def check_rule(target: Primitive, known: Any, rule: Function, what: str, *, replace: bool) -> None:
    """Raise RuleError for a rule of other arguments, and where another module gave the primitive one, `known`."""
    check_takes_arguments_of(inspect.unwrap(target), target.name, rule, what)
    claim(what, target.name, None if known is None else module_of(known), module_of(rule), replace=replace)


def check_primitive(target: Any, what: str) -> None:
    """Raise RuleError for anything but a primitive."""
    if not isinstance(target, Primitive):
        raise RuleError(
            f"{what} takes a primitive, not {target!r}", cure="Decorate the function with ps.primitive first."
        )


class FirstOrder:
    """A rule whose pullback refuses to be differentiated by what it captures."""

    def __init__(self, name: str, rule: Function) -> None:
        functools.update_wrapper(self, rule, updated=())
        self.name = name
        self.rule = rule

    def depends_on(self) -> tuple[Any, ...]:
        """Return the rule."""
        return (self.rule,)

    def __call__(self, *args: Any, **static: Any) -> Any:
        returned = self.rule(*args, **static)
        if not (isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1])):
            return returned
        output, pullback = returned
        return output, lambda cotangent: self._held(pullback, cotangent)

    def _held(self, pullback: Function, cotangent: Any) -> Any:
        """Record the pullback so that it reads its captures through an op that has no derivative."""
        leaves, spec = trees.in_parts(cotangent)
        given = [as_array(x) for x in leaves]
        with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as inner:
            params = [inner.param(a.type) for a in given]
            found, structure = trees.in_parts(settled(pullback(trees.unflatten(spec, [Array(p) for p in params]))))
            results = [as_array(x).value for x in found]
        block = tracing.close(self.name, params, inner, results)
        captured = free(block)
        held = [_once(Array(v), self.name).value if v.type.is_float else v for v in captured]
        whole = Block(block.name, (*params, *captured), block.ops, block.results)
        values = tracing.inline(whole, [*(a.value for a in given), *held])
        return trees.unflatten(structure, [Array(v) for v in values])


@functools.lru_cache(4096)
def _marker(name: str) -> Primitive:
    """Return an identity op whose derivative raises: it stands for the missing second derivative of a rule."""

    def once(x: Any) -> Any:
        return x

    def refused(x: Any) -> Any:
        raise RuleError(
            f"{name} has no second derivative: its rule is first order only",
            cure="Differentiate it once, or write its rule without first_order_only.",
        )

    marker = Primitive(once, f"{name}.first_order_only")
    marker.rule = refused
    return marker


def _once(x: Array, name: str) -> Array:
    found: Array = _marker(name)(x)
    return found


def opt_out(target: Primitive) -> None:
    """Remove a primitive's rules: it is differentiated through its own program again.

    Raises RuleError for anything but a primitive.
    """
    check_primitive(target, "opt_out")
    target.rule = target.frule = target.batched = None
    target.ruled()


class _Stopping(Primitive):
    """A primitive whose results have no derivative, so that none is computed for what they alone depend on."""

    def attributes(self, *args: Any) -> dict[str, Any]:
        return {**super().attributes(*args), "stops": True}


@_Stopping
def stop_gradient(x: Any) -> Any:
    """`x`, an array of any dtype or nested arrays, through which no gradient flows.

    >>> float(ps.grad(lambda x: x * ps.stop_gradient(x))(3.0))
    3.0
    """
    return x


@rrule(stop_gradient)
def _stop_gradient(x: Any) -> tuple[Any, Function]:
    return stop_gradient(x), lambda _: (None,)


stop_gradient.takes_complex = True
