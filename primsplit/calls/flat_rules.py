"""A user's rule at one call: it speaks the user's nested arguments, and a Split asks for flat inputs and outputs."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from primsplit import trees
from primsplit.array import Array
from primsplit.broadcasting import zeros_like
from primsplit.calls.staging import Site, Staged
from primsplit.errors import RuleError, TraceError
from primsplit.frames import without_states
from primsplit.lifting import as_array
from primsplit.tracing import defined_at

Function = Callable[..., Any]


class Ruled(Protocol):
    """What has a rule, a forward rule, or both: a primitive."""

    name: str
    rule: Function | Staged | None
    frule: Function | Staged | None


class Flat:
    """A user's rule, which speaks the user's nested arguments, at one call."""

    kind = "rule"
    inner = "pullback"

    def __init__(
        self,
        primitive: Ruled,
        leaves: Sequence[Any],
        spec: trees.TreeSpec,
        result_spec: trees.TreeSpec,
        site: Site = None,
    ) -> None:
        self.primitive = primitive
        self.site = site
        self.static = [None if trees.is_array(x) else x for x in leaves]
        self.traced = [trees.is_array(x) for x in leaves]
        self.spec = spec
        self.result_spec = result_spec

    def depends_on(self) -> tuple[Any, ...]:
        """The rule and what it reads, how it is called, and with what beside arrays."""
        return self.given, self.static, self.site, str(self.spec), str(self.result_spec)

    @property
    def given(self) -> Function | Staged | None:
        """The user's rule."""
        return self.primitive.rule

    @property
    def __name__(self) -> str:
        """What a listing calls it: the name of the user's rule."""
        return getattr(self.given, "__name__", "")

    def run(self, inputs: Sequence[Array]) -> tuple[tuple[Any, ...], tuple[Array, ...], Function]:
        """Call the rule; return the arguments, the outputs, and the inner function."""
        if self.given is None:
            raise RuleError(f"{self.primitive.name} has no {self.kind}")
        rule = self.given.at(self.site) if isinstance(self.given, Staged) else self.given
        arrays = iter(inputs)
        leaves = [next(arrays) if t else s for t, s in zip(self.traced, self.static, strict=True)]
        args, static = trees.unflatten(self.spec, leaves)
        with without_states():
            made = rule(*args, **static)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
            raise RuleError(
                f"the {self.kind} of {self.primitive.name} must return its output and a function, the {self.inner}",
                place=defined_at(self.given),
            )
        output, inner = made
        flat, _ = trees.in_parts(output)
        return args, tuple(as_array(r) for r in flat), inner


class FlatRule(Flat):
    """A user's reverse rule as a rule of flat inputs and outputs."""

    def __call__(self, *inputs: Array) -> tuple[Any, Function]:
        args, outputs, pullback = self.run(inputs)
        return outputs, lambda *cotangents: self._pull(args, pullback, outputs, cotangents)

    def _pull(
        self, args: tuple[Any, ...], pullback: Function, outputs: Sequence[Array], cotangents: Sequence[Array | None]
    ) -> list[Array | None]:
        given = [zeros_like(o) if c is None else c for o, c in zip(outputs, cotangents, strict=True)]
        with without_states():
            found = trees.as_list(settled(pullback(trees.unflatten(self.result_spec, given))))
        if len(found) != len(args):
            raise RuleError(
                f"the rule of {self.primitive.name} returned {len(found)} cotangents for {len(args)} arguments",
                place=defined_at(pullback),
                cure="A pullback returns one cotangent an argument, None where there is no tangent.",
            )
        flat: list[Array | None] = []
        for argument, cotangent in zip(args, found, strict=True):
            flat.extend(_argument_cotangents(argument, cotangent, self.primitive.name, pullback))
        missing = sum(self.traced) - len(flat)
        return flat + [None] * missing


def settled(cotangents: Any) -> Any:
    """What a pullback returned, with what it put off as a function without arguments computed."""
    leaves, spec = trees.flatten(cotangents)
    if not any(map(callable, leaves)):
        return cotangents
    return trees.unflatten(spec, [leaf() if callable(leaf) else leaf for leaf in leaves])


def _argument_cotangents(argument: Any, cotangent: Any, name: str, pullback: Function) -> list[Array | None]:
    """One cotangent for each array leaf of an argument."""
    leaves, spec = trees.in_parts(argument)
    traced = [trees.is_array(x) for x in leaves]
    if cotangent is None:
        return [None] * sum(traced)
    found, found_spec = trees.in_parts(cotangent)
    if trees.paths(found_spec) != trees.paths(spec):
        raise RuleError(
            f"the rule of {name} returned a cotangent of another structure than its argument",
            place=defined_at(pullback),
            because=(f"argument:  {trees.brief(spec)}", f"cotangent: {trees.brief(found_spec)}"),
        )
    try:
        return [as_array(c) for c, t in zip(found, traced, strict=True) if t]
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
        return outputs, lambda *tangents: self._push(args, inputs, pushforward, tangents)

    def _push(
        self, args: tuple[Any, ...], inputs: Sequence[Array], pushforward: Function, tangents: Sequence[Array | None]
    ) -> list[Array | None]:
        with without_states():
            found = pushforward(*self._nested(args, iter(zip(inputs, tangents, strict=True))))
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
        return [None if t is None else as_array(t) for t in flat]

    def _tangents(self, found: Any) -> list[Any]:
        """One tangent a leaf of the result, None among them, as far as they fit it."""
        flat = trees.leaves_or_none(found)
        if len(flat) == self.result_spec.num_leaves:
            return flat
        try:
            parts = trees.leaves_like(self.result_spec, found)
        except (ValueError, TypeError):
            return flat
        return parts if all(p is None or trees.flatten(p)[1].is_leaf() for p in parts) else flat

    def _nested(self, args: tuple[Any, ...], pairs: Iterator[tuple[Array, Array | None]]) -> Iterator[Any]:
        """One tangent an argument, in its structure: None where no leaf of it has one, else zeros where one has not."""
        for argument in args:
            leaves, spec = trees.in_parts(argument)
            given = [next(pairs) if trees.is_array(x) else (None, None) for x in leaves]
            if all(t is None for _, t in given):
                yield None
            else:
                filled = [zeros_like(x) if t is None and x is not None else t for x, t in given]
                yield trees.unflatten(spec, filled)
