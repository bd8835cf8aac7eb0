"""Adapt a user's rule to one call: it takes the user's nested arguments, a Split passes flat inputs and outputs.

```
rule({"w": w, "b": b}, x)   is called with the arrays   (w, b, x) of the op's inputs
```
"""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from primsplit import tracing
from primsplit.ir import Type, Var
from primsplit.ir.dims import could_be, same_shape
from primsplit.ir.errors import Place, RuleError, TraceError
from primsplit.ops import op
from primsplit.tracing import defined_at, trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import zeros_like
from primsplit.tracing.calls.contracts import called_with
from primsplit.tracing.calls.homogeneity import powers
from primsplit.tracing.calls.recorded import StandIn
from primsplit.tracing.calls.staging import Site, Staged
from primsplit.tracing.frames import without_states

Function = Callable[..., Any]


class Ruled(Protocol):
    """A primitive: it has a rule, a forward rule, or both."""

    name: str
    function: Function
    rule: Function | Staged | None
    frule: Function | Staged | None
    is_named: bool
    is_listed: bool


class Flat:
    """A user's rule at one call, with the structure of its nested arguments."""

    kind = "rule"
    inner = "pullback"

    def __init__(
        self,
        primitive: Ruled,
        leaves: Sequence[Any],
        spec: trees.TreeSpec,
        result_spec: trees.TreeSpec,
        results: Sequence[Type],
        site: Site = None,
    ) -> None:
        self.primitive = primitive
        self.site = site
        self.results = results
        self.static = [None if trees.is_array(x) else x for x in leaves]
        self.kinds = [StandIn.of(as_array(x)).kind if trees.is_array(x) else None for x in leaves]
        self.spec = spec
        self.result_spec = result_spec

    def depends_on(self) -> tuple[Any, ...]:
        """Return the rule and what it reads, how it is called, and its static arguments."""
        return self.given, self.static, self.kinds, self.site, str(self.spec), str(self.result_spec)

    @property
    def given(self) -> Function | Staged | None:
        """The user's rule."""
        return self.primitive.rule

    @property
    def keywords(self) -> dict[str, Any]:
        """The static arguments that are given by keyword."""
        _, found = trees.unflatten(self.spec, self.static)
        return {name: value for name, value in found.items() if value is not None}

    @property
    def listed(self) -> dict[str, Any] | None:
        """The arguments to show in a listing in the place of rule and program; None for a user's primitive."""
        return self.keywords if self.primitive.is_named else None

    @property
    def positional(self) -> int:
        """The number of arrays passed by position; they come first."""
        return sum(k is not None and not named for k, (named, *_) in zip(self.kinds, self.spec.paths(), strict=True))

    @property
    def place(self) -> Place | None:
        """The place where the user's rule is defined."""
        return defined_at(self.given)

    @property
    def __name__(self) -> str:
        """The name of the user's rule, for listings."""
        return getattr(self.given, "__name__", "")

    def run(self, inputs: Sequence[Array]) -> tuple[tuple[Any, ...], tuple[Array, ...], Function]:
        """Call the rule; return the arguments, the outputs, and the inner function."""
        if self.given is None:
            raise RuleError(f"{self.primitive.name} has no {self.kind}")
        rule = self.given.at(self.site) if isinstance(self.given, Staged) else self.given
        arrays = iter(inputs)
        leaves = [s if k is None else of_kind(next(arrays), k) for k, s in zip(self.kinds, self.static, strict=True)]
        args, static = trees.unflatten(self.spec, leaves)
        cure = f"It takes the arguments of {self.primitive.name}."
        with without_states():
            returned = called_with(rule, f"the {self.kind} of {self.primitive.name}", cure, *args, **static)
        if not (isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1])):
            raise RuleError(
                f"the {self.kind} of {self.primitive.name} must return its output and a function, the {self.inner}",
                place=self.place,
            )
        output, inner = returned
        return args, self._outputs(output), inner

    def _outputs(self, output: Any) -> tuple[Array, ...]:
        """Return the leaves of the output. Raises RuleError if they differ from the primitive's."""
        flat, _ = trees.in_parts(output)
        name = self.primitive.name
        told = f"has {len(flat)} arrays as its output, where {name} has {len(self.results)}"
        if len(flat) == len(self.results):
            given = [as_array(r, wanted.dtype) for r, wanted in zip(flat, self.results, strict=True)]
            others = [(a, t) for a, t in zip(given, self.results, strict=True) if _differs(a.type, t)]
            if not others:
                return tuple(given)
            told = f"has {others[0][0].type} as its output, where {name} has {others[0][1]}"
        cure = f"It returns what {name} returns, and the {self.inner}."
        raise RuleError(f"the {self.kind} of {name} {told}", place=self.place, cure=cure)

    def by_keyword(self, what: str) -> RuleError:
        """Return the error of a derivative by an array that is passed by keyword."""
        return RuleError(
            f"the {self.kind} of {self.primitive.name} has no {what} for an array that is given by keyword",
            place=self.place,
            cure="Pass the array by position: the rule speaks of the positional arguments, one by one.",
        )

    def _not_given(self, count: int) -> int:
        """Return how many arguments a rule may return cotangents for beside `count` positional ones.

        These are the ones left to their defaults, and those passed by keyword.
        """
        try:
            parameters = inspect.signature(self.primitive.function).parameters.values()
        except ValueError:
            return 0
        known = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
        return max(0, sum(p.kind in known for p in parameters) - count)

    def _check_linear(
        self, what: str, found: Sequence[Array | None], given: Sequence[Array | None], before: int, inner: Function
    ) -> None:
        """Raise RuleError if `found` is certainly not linear in `given`, by the ops since `before`."""
        seeds = [a.value for a in given if a is not None and isinstance(a.value, Var)]
        floats = [a.value for a in found if a is not None and a.type.is_float]
        for power in powers(tracing.current().ops[before:], seeds, floats):
            if power is not None and power != 1 and math.isfinite(power):
                does = f"multiplies {what}s with each other" if power > 1 else f"is not 0 where the {what}s are"
                raise RuleError(
                    f"the {self.kind} of {self.primitive.name} is not linear: its {self.inner} {does}",
                    place=defined_at(inner),
                    cure=f"Multiply each {what} by what it captures, and add those; None stands for zero.",
                )


def of_kind(array: Array, kind: int) -> Array:
    """Return the handle as the primitive received it: an array, or a number of NumPy's or Python's."""
    return Array(array.value, weak=kind == 2, scalar=kind > 0)


def _zeros(argument: Any) -> Array:
    return of_kind(zeros_like(as_array(argument)), StandIn.of(as_array(argument)).kind)


def _of_number(cotangent: Array | None, argument: Any) -> Array | None:
    """Return the cotangent.

    That of a Python number, which has no dtype for the rule, in the dtype that it is traced in.
    """
    is_other = cotangent is not None and as_array(argument).weak and cotangent.dtype != as_array(argument).dtype
    return op.Cast(cotangent, to=as_array(argument).dtype) if is_other else cotangent


def _differs(a: Type, b: Type) -> bool:
    """Whether no sizes make the types equal."""
    if a.shape is None or b.shape is None:
        return a.dtype != b.dtype
    fits = len(a.shape) == len(b.shape) and all(map(could_be, a.shape, b.shape))
    return a.dtype != b.dtype or not fits


class FlatRule(Flat):
    """A user's reverse rule as a rule of flat inputs and outputs."""

    def __call__(self, *inputs: Array) -> tuple[Any, Function]:
        args, outputs, pullback = self.run(inputs)
        return outputs, lambda *cotangents: self._pull(args, pullback, outputs, cotangents)

    def _pull(
        self, args: tuple[Any, ...], pullback: Function, outputs: Sequence[Array], cotangents: Sequence[Array | None]
    ) -> list[Array | RuleError | None]:
        """Return one cotangent for each input; for an array passed by keyword, an error for whoever needs it."""
        before = len(tracing.current().ops)
        given = [zeros_like(o) if c is None else c for o, c in zip(outputs, cotangents, strict=True)]
        cotangent = trees.unflatten(self.result_spec, given)
        cure = "It takes one argument, the cotangent of the output, in the output's structure."
        with without_states():
            returned = called_with(pullback, f"the pullback in the rule of {self.primitive.name}", cure, cotangent)
            found = trees.as_list(settled(returned))
        if not len(args) <= len(found) <= len(args) + self._not_given(len(args)):
            raise RuleError(
                f"the rule of {self.primitive.name} returned {len(found)} cotangents for {len(args)} arguments",
                place=defined_at(pullback),
                cure="A pullback returns one cotangent an argument, None where there is no tangent.",
            )
        flat: list[Array | None] = []
        for argument, cotangent in zip(args, found[: len(args)], strict=True):
            flat.extend(_argument_cotangents(argument, cotangent, self.primitive.name, pullback))
        leaves = [x for x in trees.in_parts(args)[0] if trees.is_array(x)]
        flat = [_of_number(c, x) for c, x in zip(flat, leaves, strict=True)]
        smooth = [c for c, x in zip(flat, leaves, strict=True) if as_array(x).type.is_float]
        self._check_linear("cotangent", smooth, cotangents, before, pullback)
        named = sum(k is not None for k in self.kinds) - len(flat)
        return [*flat, *[self.by_keyword("cotangent")] * named]


def settled(cotangents: Any) -> Any:
    """Return what a pullback returned, with deferred cotangents, functions without arguments, computed."""
    leaves, spec = trees.flatten(cotangents)
    if not any(map(callable, leaves)):
        return cotangents
    return trees.unflatten(spec, [leaf() if callable(leaf) else leaf for leaf in leaves])


def _argument_cotangents(argument: Any, cotangent: Any, name: str, pullback: Function) -> list[Array | None]:
    """Return one cotangent for each array leaf of an argument."""
    leaves, spec = trees.in_parts(argument)
    traced = [trees.is_array(x) for x in leaves]
    if cotangent is None:
        return [None] * sum(traced)
    found, found_spec = trees.in_parts(cotangent)
    try:
        if trees.paths(found_spec) != trees.paths(spec):
            found = trees.leaves_with_zeros(spec, cotangent)
        if any(map(trees.is_complex, found)):
            raise ValueError("a complex cotangent stands for that of a real array")
    except (ValueError, TypeError):
        raise RuleError(
            f"the rule of {name} returned a cotangent of another structure than its argument",
            place=defined_at(pullback),
            because=(f"argument:  {trees.brief(spec)}", f"cotangent: {trees.brief(found_spec)}"),
        ) from None
    try:
        return [None if c is None else as_array(c) for c, t in zip(found, traced, strict=True) if t]
    except TraceError as error:
        raise RuleError(
            f"the rule of {name} returned a cotangent that is no array: {error.what}",
            place=defined_at(pullback),
        ) from None


class FlatForward(Flat):
    """A user's forward rule as a rule of flat inputs and outputs."""

    kind = "forward rule"
    inner = "pushforward"

    @property
    def given(self) -> Function | Staged | None:
        """The user's forward rule."""
        return self.primitive.frule

    def __call__(self, *inputs: Array) -> tuple[tuple[Array, ...], Function]:
        args, outputs, pushforward = self.run(inputs)
        return outputs, lambda *tangents: self._push(args, inputs, pushforward, tangents, outputs)

    def _push(
        self,
        args: tuple[Any, ...],
        inputs: Sequence[Array],
        pushforward: Function,
        tangents: Sequence[Array | None],
        outputs: Sequence[Array],
    ) -> list[Array | None]:
        before = len(tracing.current().ops)
        kinds = (k for k in self.kinds if k is not None)
        tangents = [None if t is None else of_kind(t, k) for t, k in zip(tangents, kinds, strict=True)]
        pairs = iter(zip(inputs, tangents, strict=True))
        given = [*self._nested(args, pairs)]
        if any(t is not None for _, t in pairs):
            raise self.by_keyword("tangent")
        told = f"the pushforward in the forward rule of {self.primitive.name}"
        with without_states():
            found = called_with(pushforward, told, "It takes one tangent an argument.", *given)
        count = self.result_spec.num_leaves
        if found is None:
            return [None] * count
        flat = self._tangents(found)
        if len(flat) != count:
            raise RuleError(
                f"the forward rule of {self.primitive.name} returned {len(flat)} tangents for {count} results",
                place=defined_at(pushforward),
                cure="A pushforward returns one tangent a result, in the structure of the output.",
            )
        tangents_out = self._arrays(flat, pushforward)
        for position, (tangent, output) in enumerate(zip(tangents_out, outputs, strict=True)):
            if tangent is not None:
                check_tangent(tangent, output.type, position, self.primitive.name, defined_at(pushforward))
        self._check_linear("tangent", tangents_out, tangents, before, pushforward)
        return tangents_out

    def _arrays(self, flat: Sequence[Any], pushforward: Function) -> list[Array | None]:
        try:
            return [None if t is None else as_array(t) for t in flat]
        except TraceError as error:
            raise RuleError(
                f"the forward rule of {self.primitive.name} returned a tangent that is no array: {error.what}",
                place=defined_at(pushforward),
            ) from None

    def _tangents(self, found: Any) -> list[Any]:
        """Return one tangent for each leaf of the result, None among them.

        Another number of them if they do not fit.
        """
        flat = trees.leaves_or_none(found)
        if len(flat) == self.result_spec.num_leaves:
            return flat
        try:
            return trees.leaves_with_zeros(self.result_spec, found)
        except (ValueError, TypeError):
            return flat

    def _nested(self, args: tuple[Any, ...], pairs: Iterator[tuple[Array, Array | None]]) -> Iterator[Any]:
        """Yield one tangent for each argument, in its structure, with zeros for leaves without one.

        None if no leaf has one.
        """
        for argument in args:
            leaves, spec = trees.in_parts(argument)
            given = [next(pairs) if trees.is_array(x) else (None, None) for x in leaves]
            if all(t is None for _, t in given):
                yield None
            else:
                filled = [
                    _zeros(x) if t is None and trees.is_array(x) else t for x, (_, t) in zip(leaves, given, strict=True)
                ]
                yield trees.unflatten(spec, filled)


def check_tangent(tangent: Any, result: Type, position: int, name: str, place: Place | None) -> None:
    """Raise RuleError if a forward rule's tangent does not fit its result. Any shape fits an unknown rank."""
    if isinstance(tangent, Array) and tangent.dtype == result.dtype:
        shape = tangent.type.shape
        if result.shape is None or (shape is not None and same_shape(shape, result.shape)):
            return
    told = tangent.type if isinstance(tangent, Array) else type(tangent).__name__
    raise RuleError(
        f"the forward rule of {name} returned a tangent of type {told} for result {position}, which is {result}",
        place=place,
    )
