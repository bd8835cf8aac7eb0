"""Finds sums of factors some of which are masked, by the loops of a nest: see `chosen_sums.py`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from primsplit.frontends.loops.lowering.chosen_sums import Form, chosen_sum
from primsplit.frontends.loops.lowering.functions import computed
from primsplit.frontends.loops.lowering.space import Space
from primsplit.frontends.loops.lowering.sums import Factors, Mask, alike
from primsplit.ir import dims
from primsplit.numpy.contraction import Term
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import size_scalar


def masked_sum(
    space: Space, factors: Factors, kept: Sequence[str], reduced: Sequence[str], total: Callable[[Factors], Term]
) -> Term:
    """The product of the factors over the kept loops, summed over the reduced ones; `total` does so without masks.

    A mask that all factors are under, and that does not depend on what is summed over, is put on the sum.
    """
    first, *others = (factor.masks for factor in factors)
    common = [mask for mask in first if all(mask in masks for masks in others)]
    outer = [mask for mask in common if not set(mask.loops) & set(reduced)]
    rest = tuple(replace(f, masks=tuple(mask for mask in f.masks if mask not in outer)) for f in factors)
    found = _chosen(space, rest, kept, reduced) if any(factor.masks for factor in rest) else total(rest)
    for mask in outer:
        sides = [found, Term(as_array(0), ())]
        found = computed("where", [mask.made(), *(sides if mask.chooses else sides[::-1])], tuple(kept), {})
    return found


def _chosen(space: Space, factors: Factors, kept: Sequence[str], reduced: Sequence[str]) -> Term:
    terms, weak = alike(factors)
    masks = list(dict.fromkeys(mask for factor in factors for mask in factor.masks))
    conditions = [_condition(mask) for mask in masks]
    known = {label for term in (*terms, *conditions) for label in term.labels}
    form = Form(
        factors=tuple(term.labels for term in terms),
        masks=tuple(term.labels for term in conditions),
        under=tuple(tuple(masks.index(mask) for mask in factor.masks) for factor in factors),
        result=tuple(loop for loop in kept if loop in known),
    )
    found = chosen_sum(*(term.array for term in (*terms, *conditions)), form=form)
    times = dims.product(space.count(loop) for loop in reduced if loop not in known)
    found = found if dims.is_one(times) else op.Mul(found, cast_to(size_scalar(times), found.dtype))
    return Term(Array(found.value, weak=weak), form.result)


def _condition(mask: Mask) -> Term:
    """A condition that is true where the mask chooses the value."""
    term = mask.made()
    return term if mask.chooses else Term(op.Not(term.array), term.labels)
