"""Record the body of a loop for a carry whose dtypes and ranks every step keeps.

A body is recorded once. A size that a step changes is a fresh symbol inside (`regions.VARYING`), and another one after
the loop. The loop is then a Loop: the standard lets the states of a Scan keep their shapes only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, Value, Var
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.branching.conditions import scalar_condition
from primsplit.tracing.branching.exploring import explored
from primsplit.tracing.control.complex_leaves import Made, met
from primsplit.tracing.control.structure import (
    Function,
    arrays_of,
    check_carry,
    converted,
    met_dtype,
    require_same_structure,
)
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.regions import VARYING, outside, visible, widened

Step = Callable[[Any, list[Array]], tuple[Any, Any]]


class Body:
    """One recording of `step(carry, extras) -> (carry, stacked)`, and of the condition on the new carry.

    `starts` are the first carries, with the structure `spec`; `types` are valid for the carries of every step; `extras`
    are the types of a step's other arguments.
    """

    def __init__(
        self,
        name: str,
        starts: Sequence[Array],
        types: Sequence[Type],
        spec: trees.TreeSpec,
        extras: Sequence[Type],
        step: Step,
        condition: Function | None = None,
    ) -> None:
        self.name = name
        self.starts = list(starts)
        self.types = list(types)
        self.spec = spec
        with tracing.recording() as self.inner:
            self.params = [self.inner.param(t) for t in types]
            self.extras = [self.inner.param(t) for t in extras]

            def run() -> tuple[list[Array], trees.TreeSpec]:
                before = [Array(p, weak=a.weak, scalar=a.scalar) for p, a in zip(self.params, starts, strict=True)]
                step_result = step(trees.unflatten(spec, before), [Array(p, scalar=True) for p in self.extras])
                again = None if condition is None else Array(scalar_condition(condition(step_result[0])))
                return arrays_of((*step_result, again))

            results, found = explored(run)
            carry, self.stacked_spec, again = found.children()
            count = carry.num_leaves
            self.stacked = results[count : count + self.stacked_spec.num_leaves]
            self.again = results[-1].value if again.num_leaves else None
        given = {"before": Made(self.starts, spec), "after": Made(results[:count], carry)}
        self.before, (self.after, self.after_spec) = met("the carry", given).values()

    def check(self) -> None:
        """Raise TraceError or ShapeError if a step returns another carry than it gets."""
        require_same_structure(
            "the carry before and after a step",
            {"before": self.spec, "after": self.after_spec},
            "Return a carry like the one that the body was given.",
        )
        for label, t, b in zip(trees.labels(self.spec), self.types, self.after, strict=True):
            check_carry(label, t, b.type)

    @property
    def is_changing(self) -> bool:
        """Whether a step changes the size of a carry."""
        return any(a.type != t for a, t in zip(self.starts, self.types, strict=True))

    def wider(self, dtypes: Sequence[np.dtype[Any]]) -> list[Type]:
        """Return types in these dtypes that are valid for the carries before and after a step."""
        known = visible([*self.params, *(a.value for a in self.starts)])
        told = zip(self.starts, self.types, self.after, dtypes, strict=True)
        return [
            widened(Type(d, s.shape), Type(d, t.shape), outside(Type(d, a.shape), known), VARYING)
            for s, t, a, d in told
        ]

    def last_types(self) -> list[Type] | None:
        """Return the types of the last carries; None if they are those of the first."""
        known = visible([a.value for a in self.starts])
        return [outside(t, known, "changed") for t in self.types] if self.is_changing else None

    def block(self, dtypes: Sequence[np.dtype[Any]]) -> Block:
        """Return a block from carries and extras to carries in these dtypes and what is stacked.

        Ops that do not vary from step to step are recorded before the loop.
        """
        with tracing.resumed(self.inner):
            results = [converted(a, d) for a, d in zip(self.after, dtypes, strict=True)]
            results += [a.value for a in self.stacked]
        params = (*self.params, *self.extras)
        return HOOKS.without_invariants(Block(self.name, params, tuple(self.inner.ops), tuple(results)))

    def unflatten(self, found: Sequence[Value]) -> tuple[Any, Any]:
        """Return the outputs of the loop in the user's structure."""
        count = len(self.after)
        carry = trees.unflatten(self.spec, [Array(v, scalar=True) for v in found[:count]])
        return carry, trees.unflatten(self.stacked_spec, [Array(v) for v in found[count:]])


def record_body(
    name: str,
    starts: Sequence[Array],
    spec: trees.TreeSpec,
    extras: Sequence[Type],
    step: Step,
    condition: Function | None = None,
) -> tuple[Body, Block]:
    """Record the body; again if a Python number in the first carry gets another dtype, or sizes change.

    A number may become complex: then the body has another `spec`, and other `starts`.
    """
    given = list(starts)
    types = [a.type for a in starts]
    while True:
        body = Body(name, given, types, spec, extras, step, condition)
        if body.before.spec != spec:
            given, spec = body.before
            types = [a.type for a in given]
            continue
        body.check()
        pairs = zip(trees.labels(spec), given, body.after, strict=True)
        dtypes = [met_dtype(f"{label} of the carry", {"before": a, "after": b}) for label, a, b in pairs]
        wider = body.wider(dtypes)
        if wider == types:
            return body, body.block(dtypes)
        types = wider
        given = [Array(converted(a, d)) for a, d in zip(given, dtypes, strict=True)]


def as_loop(block: Block, carries: int, again: Value | None) -> Block:
    """Return the body of a Loop: its parameters are the iteration, a condition, and the carries.

    The block's parameters are the carries, and then perhaps the iteration.
    """
    iteration = block.params[carries] if len(block.params) > carries else Var(Type(np.int64, ()), "i")
    going = Var(Type(np.bool_, ()), "going")
    results = (going if again is None else again, *block.results)
    return Block(block.name, (iteration, going, *block.params[:carries]), block.ops, results)
