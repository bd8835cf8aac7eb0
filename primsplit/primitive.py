"""Functions that stay one op in the program: `primitive`, and `rrule` to give them a derivative of their own."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array
from primsplit.errors import Place, RuleError, TraceError
from primsplit.exploring import explored
from primsplit.fingerprint import fingerprint
from primsplit.ir import Block, Op, Type, Var, free, own_symbols
from primsplit.lifting import as_array

Function = Callable[..., Any]


class Primitive:
    """A function that is recorded as one op, `call::name`, with its traced program inside.

    It is differentiated by its rule where it has one, else through its program. Array arguments (nested ones too) are
    the op's inputs; all other arguments are static. Called outside of a trace it is the plain function. `bounded` makes
    the rule of one that stays a call through derivatives: see `boundaries.primitive`.
    """

    def __init__(
        self, function: Function, name: str = "", bounded: Callable[[str, Block], Function] | None = None
    ) -> None:
        functools.update_wrapper(self, function)
        self.bounded = bounded
        self.function = function
        self.name = name or function.__name__
        self.rule: Function | None = None
        self.frule: Function | None = None
        self.transposed: Callable[[FlatForward], Function] | None = None
        self.bodies: dict[Any, tuple[Block, trees.TreeSpec]] = {}

    def depends_on(self) -> tuple[Any, ...]:
        """What its behaviour depends on; not the bodies traced so far."""
        return self.name, self.function, self.rule, self.frule

    def __call__(self, *args: Any, **static: Any) -> Any:
        if not tracing.is_recording():
            return self.function(*args, **static)
        leaves, spec = trees.flatten((args, static))
        arrays = [as_array(x) if trees.is_array(x) else None for x in leaves]
        body, outer, result_spec = self._body(leaves, arrays, spec)
        inputs = [a.value for a in arrays if a is not None]
        outputs = tuple(Var(r.type, r.hint) for r in body.results)
        attributes: dict[str, Any] = {"body": body}
        if self.rule is not None:
            attributes["rule"] = _FlatRule(self, leaves, spec, result_spec)
        if self.frule is not None:
            forward = attributes["frule"] = FlatForward(self, leaves, spec, result_spec)
            if self.rule is None and self.transposed is not None:
                attributes["rule"] = self.transposed(forward)
        if self.bounded is not None:
            attributes["inline"] = False
            attributes.setdefault("rule", self.bounded(self.name, body))
        place = tracing.current().place or tracing.user_place()
        remark = tracing.current().remark
        tracing.append(Op(f"call::{self.name}", (*inputs, *outer), outputs, attributes, place, remark))
        return trees.unflatten(result_spec, [Array(v) for v in outputs])

    def _body(
        self, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
    ) -> tuple[Block, list[Var], trees.TreeSpec]:
        """The traced program; what it captures becomes further parameters."""
        key = _body_key(self.function, leaves, arrays, spec)
        if key in self.bodies:
            body, result_spec = self.bodies[key]
            return body, [], result_spec
        body, result_spec = trace_body(self.name, self.function, leaves, arrays, spec)
        outer = free(body)
        if outer and (self.rule is not None or self.frule is not None):
            raise TraceError(
                f"{self.name} has a rule of its own and reads a traced value that is not an argument",
                place=tracing.user_place(),
                cure="Pass it as an argument, so that the rule can give it a cotangent.",
            )
        if not outer and not own_symbols(body):
            self.bodies[key] = (body, result_spec)
        return Block(body.name, (*body.params, *outer), body.ops, body.results), outer, result_spec


def trace_body(
    name: str, function: Function, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec
) -> tuple[Block, trees.TreeSpec]:
    """The block of a call of `function` whose array leaves are parameters, and the structure of its result."""
    with tracing.recording() as inner:
        params = [None if a is None else inner.param(a.type) for a in arrays]
        inner.bindings = {p: a.value for p, a in zip(params, arrays, strict=True) if p is not None and a is not None}

        def run() -> tuple[list[Array], trees.TreeSpec]:
            given = [
                leaf if p is None else Array(p, weak=a is not None and a.weak, scalar=a is not None and a.scalar)
                for leaf, p, a in zip(leaves, params, arrays, strict=True)
            ]
            args, static = trees.unflatten(spec, given)
            found, structure = trees.flatten(function(*args, **static))
            return [as_array(r) for r in found], structure

        traced, result_spec = explored(run)
        results = [a.value for a in traced]
    return tracing.close(name, [p for p in params if p is not None], inner, results), result_spec


def _body_key(function: Function, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec) -> Any:
    """What a body depends on: the types of arrays, the contents of static arguments, what the function reads."""
    static = tuple(fingerprint(x) for x, a in zip(leaves, arrays, strict=True) if a is None)
    types = tuple(None if a is None else (a.type.key, a.weak) for a in arrays)
    return spec, static, types, fingerprint(function)


class _Flat:
    """A user's rule, which speaks the user's nested arguments, at one call."""

    kind = "rule"
    inner = "pullback"

    def __init__(
        self, primitive: Primitive, leaves: Sequence[Any], spec: trees.TreeSpec, result_spec: trees.TreeSpec
    ) -> None:
        self.primitive = primitive
        self.static = [None if trees.is_array(x) else x for x in leaves]
        self.traced = [trees.is_array(x) for x in leaves]
        self.spec = spec
        self.result_spec = result_spec

    def run(self, rule: Function, inputs: Sequence[Array]) -> tuple[tuple[Any, ...], tuple[Array, ...], Function]:
        """Call the rule; return the arguments, the outputs, and the inner function."""
        arrays = iter(inputs)
        leaves = [next(arrays) if t else s for t, s in zip(self.traced, self.static, strict=True)]
        args, static = trees.unflatten(self.spec, leaves)
        made = rule(*args, **static)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
            raise RuleError(
                f"the {self.kind} of {self.primitive.name} must return its output and a function, the {self.inner}",
                place=rule_place(rule),
            )
        output, inner = made
        flat, _ = trees.flatten(output)
        return args, tuple(as_array(r) for r in flat), inner


class _FlatRule(_Flat):
    """A user's reverse rule as a rule of flat inputs and outputs."""

    def __call__(self, *inputs: Array) -> tuple[Any, Function]:
        rule = self.primitive.rule
        if rule is None:
            raise RuleError(f"{self.primitive.name} has no rule")
        args, outputs, pullback = self.run(rule, inputs)
        return outputs, lambda *cotangents: self._pull(args, pullback, outputs, cotangents)

    def _pull(
        self, args: tuple[Any, ...], pullback: Function, outputs: Sequence[Array], cotangents: Sequence[Array | None]
    ) -> list[Array | None]:
        given = [_zeros(o) if c is None else c for o, c in zip(outputs, cotangents, strict=True)]
        found = pullback(trees.unflatten(self.result_spec, given))
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(found) != len(args):
            raise RuleError(
                f"the rule of {self.primitive.name} returned {len(found)} cotangents for {len(args)} arguments",
                place=rule_place(pullback),
                cure="A pullback returns one cotangent an argument, None where there is no tangent.",
            )
        flat: list[Array | None] = []
        for argument, cotangent in zip(args, found, strict=True):
            flat.extend(_argument_cotangents(argument, cotangent, self.primitive.name, pullback))
        missing = sum(self.traced) - len(flat)
        return flat + [None] * missing


def _argument_cotangents(argument: Any, cotangent: Any, name: str, pullback: Function) -> list[Array | None]:
    """One cotangent for each array leaf of an argument."""
    leaves, spec = trees.flatten(argument)
    traced = [trees.is_array(x) for x in leaves]
    if cotangent is None:
        return [None] * sum(traced)
    found, found_spec = trees.flatten(cotangent)
    if len(found) != len(leaves):
        raise RuleError(
            f"the rule of {name} returned a cotangent of structure {found_spec} for an argument of structure {spec}",
            place=rule_place(pullback),
        )
    return [as_array(c) for c, t in zip(found, traced, strict=True) if t]


class FlatForward(_Flat):
    """A user's forward rule as a rule of flat inputs and outputs."""

    kind = "forward rule"
    inner = "pushforward"

    def __call__(self, *inputs: Array) -> tuple[tuple[Array, ...], Function]:
        rule = self.primitive.frule
        if rule is None:
            raise RuleError(f"{self.primitive.name} has no forward rule")
        args, outputs, pushforward = self.run(rule, inputs)
        return outputs, lambda *tangents: self._push(args, inputs, pushforward, tangents)

    def _push(
        self, args: tuple[Any, ...], inputs: Sequence[Array], pushforward: Function, tangents: Sequence[Array | None]
    ) -> list[Array | None]:
        found = pushforward(*self._nested(args, iter(zip(inputs, tangents, strict=True))))
        count = self.result_spec.num_leaves
        if found is None:
            return [None] * count
        flat = trees.leaves_or_none(found)
        if len(flat) != count:
            raise RuleError(
                f"the forward rule of {self.primitive.name} returned {len(flat)} tangents for {count} results",
                place=rule_place(pushforward),
                cure="A pushforward returns one tangent a result, in the structure of the output.",
            )
        return [None if t is None else as_array(t) for t in flat]

    def _nested(self, args: tuple[Any, ...], pairs: Iterator[tuple[Array, Array | None]]) -> Iterator[Any]:
        """One tangent an argument, in its structure: None where no leaf of it has one, else zeros where one has not."""
        for argument in args:
            leaves, spec = trees.flatten(argument)
            given = [next(pairs) if trees.is_array(x) else (None, None) for x in leaves]
            if all(t is None for _, t in given):
                yield None
            else:
                filled = [_zeros(x) if t is None and x is not None else t for x, t in given]
                yield trees.unflatten(spec, filled)


def _zeros(x: Array) -> Array:
    from_shape = tracing.emit("Shape", [x.value])
    return Array(tracing.emit("ConstantOfShape", from_shape, {"value": np.zeros(1, x.dtype)}, types=[x.type])[0])


def rule_place(function: Function) -> Any:
    """The line where a rule or pullback is defined."""
    code = getattr(function, "__code__", None)
    return None if code is None else Place(code.co_filename, code.co_firstlineno, code.co_name)


def primitive(function: Function | None = None, *, name: str = "") -> Any:
    """Make a function one op of the program. Use as a decorator; give it a rule with `rrule`."""
    if function is None:
        return lambda f: Primitive(f, name)
    return Primitive(function, name)


def rrule(target: Primitive, *, staged: bool = False, first_order_only: bool = False) -> Callable[[Function], Function]:
    """Give a primitive its reverse rule.

    The rule takes the primitive's arguments and returns its output and `pullback`, a function from the output's
    cotangent (in the output's structure) to one cotangent an argument, None where there is no tangent.

    With `staged`, what is decorated is a builder of the rule: it takes the primitive's arguments, a Type in the place
    of each array, and returns the rule. It runs once for each signature, however many lines call the primitive, and may
    prepare what depends on shapes and static arguments alone. With `first_order_only`, second derivatives, which would
    differentiate the pullback, raise RuleError.
    """
    check_primitive(target, "rrule")

    def register(rule: Function) -> Function:
        made: Function = Staged(rule) if staged else rule
        target.rule = FirstOrder(target.name, made) if first_order_only else made
        target.bodies.clear()
        return rule

    return register


def check_primitive(target: Any, what: str) -> None:
    """Raise RuleError for anything but a primitive."""
    if not isinstance(target, Primitive):
        raise RuleError(
            f"{what} takes a primitive, not {target!r}", cure="Decorate the function with ps.primitive first."
        )


class Staged:
    """A rule that a builder makes, once for each signature."""

    def __init__(self, build: Function) -> None:
        functools.update_wrapper(self, build, updated=())
        self.build = build
        self.built: dict[Any, Function] = {}

    def depends_on(self) -> tuple[Any, ...]:
        """The builder; not the rules made so far."""
        return (self.build,)

    def __call__(self, *args: Any, **static: Any) -> Any:
        leaves, spec = trees.flatten((args, static))
        types = [Type(as_array(x).dtype, as_array(x).type.shape) if trees.is_array(x) else x for x in leaves]
        key = (spec, tuple(t if isinstance(t, Type) else fingerprint(t) for t in types), fingerprint(self.build))
        rule = self.built.get(key)
        if rule is None:
            given, named = trees.unflatten(spec, types)
            rule = self.built[key] = self.build(*given, **named)
        return rule(*args, **static)


class FirstOrder:
    """A rule whose pullback is not to be differentiated by what it captures."""

    def __init__(self, name: str, rule: Function) -> None:
        functools.update_wrapper(self, rule, updated=())
        self.name = name
        self.rule = rule

    def depends_on(self) -> tuple[Any, ...]:
        """The rule."""
        return (self.rule,)

    def __call__(self, *args: Any, **static: Any) -> Any:
        made = self.rule(*args, **static)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
            return made
        output, pullback = made
        return output, lambda cotangent: self._held(pullback, cotangent)

    def _held(self, pullback: Function, cotangent: Any) -> Any:
        """What the pullback records, reading what it captures through an op that has no derivative."""
        leaves, spec = trees.flatten(cotangent)
        given = [as_array(x) for x in leaves]
        with tracing.recording(place=tracing.current().place, remark=tracing.current().remark) as inner:
            params = [inner.param(a.type) for a in given]
            found, structure = trees.flatten(pullback(trees.unflatten(spec, [Array(p) for p in params])))
            results = [as_array(x).value for x in found]
        block = tracing.close(self.name, params, inner, results)
        captured = free(block)
        held = [_once(Array(v), self.name).value if v.type.is_float else v for v in captured]
        whole = Block(block.name, (*params, *captured), block.ops, block.results)
        values = tracing.inline(whole, [*(a.value for a in given), *held])
        return trees.unflatten(structure, [Array(v) for v in values])


@functools.cache
def _marker(name: str) -> Primitive:
    """The identity, whose derivative is the second derivative of a rule that has none."""

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
    """Take a primitive's rules away: it is differentiated through its own program again."""
    target.rule = target.frule = None
    target.bodies.clear()


@primitive
def stop_gradient(x: Any) -> Any:
    """`x`, through which no gradient flows."""
    return x


@rrule(stop_gradient)
def _stop_gradient(x: Any) -> tuple[Any, Function]:
    return stop_gradient(x), lambda _: (None,)
