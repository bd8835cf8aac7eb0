"""Functions that stay one op in the program: `primitive`, and `rrule` to give them a derivative of their own."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing, trees
from primsplit.array import Array, as_array
from primsplit.errors import Place, RuleError, TraceError
from primsplit.fingerprint import fingerprint
from primsplit.ir import Block, Op, Var, free, own_symbols

Function = Callable[..., Any]


class Primitive:
    """A function that is recorded as one op, `call::name`, with its traced program inside.

    It is differentiated by its rule where it has one, else through its program. Array arguments (nested ones too) are
    the op's inputs; all other arguments are static. Called outside of a trace it is the plain function.
    """

    def __init__(self, function: Function, name: str = "") -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or function.__name__
        self.rule: Function | None = None
        self.bodies: dict[Any, tuple[Block, trees.TreeSpec]] = {}

    def depends_on(self) -> tuple[Any, ...]:
        """What its behaviour depends on; not the bodies traced so far."""
        return self.name, self.function, self.rule

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
        if outer and self.rule is not None:
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
        given = [
            leaf if p is None else Array(p, weak=a is not None and a.weak, scalar=a is not None and a.scalar)
            for leaf, p, a in zip(leaves, params, arrays, strict=True)
        ]
        args, static = trees.unflatten(spec, given)
        result_leaves, result_spec = trees.flatten(function(*args, **static))
        results = [as_array(r).value for r in result_leaves]
    return tracing.close(name, [p for p in params if p is not None], inner, results), result_spec


def _body_key(function: Function, leaves: Sequence[Any], arrays: Sequence[Array | None], spec: trees.TreeSpec) -> Any:
    """What a body depends on: the types of arrays, the contents of static arguments, what the function reads."""
    static = tuple(fingerprint(x) for x, a in zip(leaves, arrays, strict=True) if a is None)
    types = tuple(None if a is None else (a.type.key, a.weak) for a in arrays)
    return spec, static, types, fingerprint(function)


class _FlatRule:
    """A user's rule, which speaks the user's nested arguments, as a rule of flat inputs and outputs."""

    def __init__(
        self, primitive: Primitive, leaves: Sequence[Any], spec: trees.TreeSpec, result_spec: trees.TreeSpec
    ) -> None:
        self.primitive = primitive
        self.static = [None if trees.is_array(x) else x for x in leaves]
        self.traced = [trees.is_array(x) for x in leaves]
        self.spec = spec
        self.result_spec = result_spec

    def __call__(self, *inputs: Array) -> tuple[Any, Function]:
        arrays = iter(inputs)
        leaves = [next(arrays) if t else s for t, s in zip(self.traced, self.static, strict=True)]
        args, static = trees.unflatten(self.spec, leaves)
        rule = self.primitive.rule
        if rule is None:
            raise RuleError(f"{self.primitive.name} has no rule")
        made = rule(*args, **static)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
            raise RuleError(
                f"the rule of {self.primitive.name} must return its output and a function, the pullback",
                place=rule_place(rule),
            )
        output, pullback = made
        flat, _ = trees.flatten(output)
        outputs = tuple(as_array(r) for r in flat)
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


def rrule(target: Primitive) -> Callable[[Function], Function]:
    """Give a primitive its reverse rule.

    The rule takes the primitive's arguments and returns its output and `pullback`, a function from the output's
    cotangent (in the output's structure) to one cotangent an argument, None where there is no tangent.
    """
    if not isinstance(target, Primitive):
        raise RuleError(
            f"rrule takes a primitive, not {target!r}", cure="Decorate the function with ps.primitive first."
        )

    def register(rule: Function) -> Function:
        target.rule = rule
        target.bodies.clear()
        return rule

    return register


def opt_out(target: Primitive) -> None:
    """Take a primitive's rule away: it is differentiated through its own program again."""
    target.rule = None
    target.bodies.clear()


@primitive
def stop_gradient(x: Any) -> Any:
    """`x`, through which no gradient flows."""
    return x


@rrule(stop_gradient)
def _stop_gradient(x: Any) -> tuple[Any, Function]:
    return stop_gradient(x), lambda _: (None,)
