"""`batch`: a batching rule of one's own, for a primitive or an operator."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from primsplit import tracing
from primsplit.ir import NOWHERE, Block, Op
from primsplit.ir.dims import Dim
from primsplit.ir.errors import RuleError
from primsplit.ops.verify import verified
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.calls.contracts import called_with
from primsplit.tracing.calls.flat_rules import Flat, of_kind
from primsplit.tracing.calls.primitive import Function, Primitive, check_primitive
from primsplit.tracing.calls.slots import Keeping
from primsplit.tracing.registering import NAMED, check_takes_arguments_of, claim, module_of
from primsplit.transforms.batching.table import Shared, batched_type, batching, repeated

Batched = tuple[Block, list[bool]]


def batch(target: Primitive | str, *, replace: bool = False) -> Callable[[Function], Function]:
    """Give a primitive, or an operator by its name, its batching rule: what `ps.vmap` makes of a call of it.

    Without one a primitive is batched through its program. The rule takes a tuple of one bool for each positional
    argument, and then the primitive's arguments for the whole batch. An argument whose bool is True has the batch axis
    in front of each of its arrays; the others are the same for every example. It returns the result for the batch, with
    the batch axis in front of each array; one that is the same for every example it may return as `Shared(array)`.

    The rule of an operator takes a `Site` in place of the arguments: `site.input(0)` is an input, `site.is_batched(0)`
    says whether it differs between examples, `site.attributes` are the attributes. It returns an output for each of the
    operator's, or None where the examples are to be computed one after the other.

    Raises RuleError for a target that is neither, for a primitive with `state`, for a rule of other arguments, and,
    unless `replace` is True, where another module has registered one.

    >>> @ps.primitive
    ... def total(x):
    ...     return np.sum(x)
    >>> @extend.batch(total)
    ... def totals(batched, x):
    ...     return np.sum(x, axis=1)
    >>> ps.vmap(total)(np.ones((2, 3))).tolist()
    [3.0, 3.0]
    """
    target = NAMED.get(target, target) if isinstance(target, str) else target
    if isinstance(target, str):
        return batching(target, replace=replace)
    check_primitive(target, "batch")
    if isinstance(target, Keeping):
        told = f"{target.name} has states, and is batched through its program alone"
        raise RuleError(told, place=tracing.user_place())

    def register(rule: Function) -> Function:
        cure = f"It takes a tuple of bools, and then the arguments of {target.name}."
        check_takes_arguments_of(target.function, target.name, rule, "batching rule", first=1, cure=cure)
        known = target.batched.args[0] if isinstance(target.batched, functools.partial) else None
        was = None if known is None else module_of(known)
        claim("batching rule", target.name, was, module_of(rule), replace=replace)
        target.batched = functools.partial(FlatBatch, rule)
        target.ruled()
        return rule

    return register


class FlatBatch(Flat):
    """A user's batching rule, which speaks the user's nested arguments, at one call."""

    kind = "batching rule"

    def __init__(self, rule: Function, *at_call: Any) -> None:
        super().__init__(*at_call)
        self.rule = rule

    @property
    def given(self) -> Function:
        """The user's rule."""
        return self.rule

    def outputs(self, inputs: Sequence[Array], batched: Sequence[bool], size: Dim) -> list[Array | Shared]:
        """The outputs of the batch. What else is in an argument with a batched array is repeated for each example."""
        owners = [tuple(path[:2]) for path, kind in zip(self.spec.paths(), self.kinds, strict=True) if kind is not None]
        told = {owner for owner, is_batched in zip(owners, batched, strict=True) if is_batched}
        whole = [owner in told for owner in owners]
        arrays = iter(
            repeated(x, size) if is_whole and not is_batched else x
            for x, is_batched, is_whole in zip(inputs, batched, whole, strict=True)
        )
        is_whole = iter(whole)
        leaves = [
            s if kind is None else of_kind(next(arrays), 0 if next(is_whole) else kind)
            for kind, s in zip(self.kinds, self.static, strict=True)
        ]
        args, static = trees.unflatten(self.spec, leaves)
        flags = tuple((0, i) in told for i in range(len(args)))
        what = f"the batching rule of {self.primitive.name}"
        cure = f"It takes a tuple of bools, and then the arguments of {self.primitive.name}."
        found = list(self._arrays(called_with(self.rule, what, cure, flags, *args, **static)))
        if len(found) != len(self.results):
            raise RuleError(
                f"{what} has {len(found)} arrays as its output, where {self.primitive.name} has {len(self.results)}",
                place=self.place,
                cure=f"It returns what {self.primitive.name} returns, with the batch axis in front.",
            )
        return found

    @staticmethod
    def _arrays(output: Any) -> Iterator[Array | Shared]:
        for leaf in trees.flatten(output)[0]:
            is_shared = isinstance(leaf, Shared)
            for part in trees.in_parts(leaf.array if is_shared else leaf)[0]:
                yield Shared(as_array(part)) if is_shared else as_array(part)


def batched_call(op: Op, rule: FlatBatch, flags: Sequence[bool], size: Dim, wanted: Sequence[bool]) -> Batched:
    """The body of a call in a batch by its own rule, and which of its results are batched, those that are wanted too.

    `flags` are those of the call's inputs, of which there is one at least.
    """
    given = [v for v in op.inputs if v is not None]
    with tracing.recording(place=NOWHERE) as recorded:
        types = [batched_type(v.type, size) if f else v.type for v, f in zip(given, flags, strict=True)]
        params = [recorded.param(t, v.hint) for t, v in zip(types, given, strict=True)]
        made = rule.outputs([Array(p) for p in params], flags, size)
        found = [not isinstance(y, Shared) for y in made]
        arrays = [y.array if isinstance(y, Shared) else y for y in made]
        results = [
            (repeated(y, size) if is_wanted and not is_batched else y).value
            for y, is_batched, is_wanted in zip(arrays, found, wanted, strict=True)
        ]
    body = tracing.close(op.attributes["body"].name, params, recorded, results)
    return verified(body), [a or b for a, b in zip(found, wanted, strict=True)]
