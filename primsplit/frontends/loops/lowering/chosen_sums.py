"""Sums of products with a mask: a turn that is left out adds 0, whatever its factors are.

For `if j <= i: y[i, d] += P[i, j] * V[j, d]` the mask is applied to P, and the product is contracted as any other.
Where V is infinite or NaN, 0 times it would be NaN in turns that are left out. The run therefore tests whether all of V
is finite, and computes the sum turn by turn if not. The derivatives of such a sum are such sums.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.frontends.loops.lowering.finite import where_finite
from primsplit.ir.dims import Dim
from primsplit.numpy.contraction import Label, Labels, Term, sum_of_products, widened
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import expand_to, full
from primsplit.tracing.calls.primitive import primitive, rrule
from primsplit.tracing.control.scanning import scan


@dataclass(frozen=True, slots=True)
class Form:
    """The labels of factors, masks and the sum, and for each factor the masks that it is under, by their positions.

    The product of factors under the same masks is 0 where one of these is false. The sum is over all other labels.
    """

    factors: tuple[Labels, ...]
    masks: tuple[Labels, ...]
    under: tuple[tuple[int, ...], ...]
    result: Labels


@primitive
def chosen_sum(*arrays: Array, form: Form) -> Array:
    """The sum; `arrays` are the factors, of one dtype, and the masks."""
    terms, masks = _terms(arrays, form)
    zeroed, exposed = _zeroed(terms, masks, form)
    return where_finite(
        exposed,
        lambda: sum_of_products(zeroed, form.result),
        lambda: _turn_by_turn(terms, masks, form),
    )


@rrule(chosen_sum)
def _chosen_sum(*arrays: Array, form: Form) -> tuple[Array, Callable[[Array], tuple[Array | None, ...]]]:
    def pullback(dz: Array) -> tuple[Array | None, ...]:
        places = range(len(form.factors))
        found = [_cotangent(place, dz, arrays, form) if arrays[place].type.is_float else None for place in places]
        return (*found, *([None] * len(form.masks)))

    return chosen_sum(*arrays, form=form), pullback


def _cotangent(place: int, dz: Array, arrays: Sequence[Array], form: Form) -> Array:
    """The sum of the cotangent and the other factors, all of them under the masks of this one."""
    others = [i for i in range(len(form.factors)) if i != place]
    own = form.under[place]
    factors = (form.result, *(form.factors[i] for i in others))
    under = (own, *(tuple(sorted({*own, *form.under[i]})) for i in others))
    used = sorted({mask for masks in under for mask in masks})
    masks = tuple(form.masks[i] for i in used)
    known = {label for labels in (*factors, *masks) for label in labels}
    wanted = form.factors[place]
    result = tuple(label for label in wanted if label in known)
    given = [dz, *(arrays[i] for i in others), *(arrays[len(form.factors) + i] for i in used)]
    places = tuple(tuple(used.index(mask) for mask in masks) for masks in under)
    found = chosen_sum(*given, form=Form(factors, masks, places, result))
    return expand_to(widened(Term(found, result), wanted), arrays[place].shape)


def _terms(arrays: Sequence[Array], form: Form) -> tuple[list[Term], list[Term]]:
    """The factors and the masks."""
    found = [Term(array, labels) for array, labels in zip(arrays, (*form.factors, *form.masks), strict=True)]
    return found[: len(form.factors)], found[len(form.factors) :]


def _zeroed(factors: Sequence[Term], masks: Sequence[Term], form: Form) -> tuple[list[Term], list[Array]]:
    """Factors whose product is 0 where it is not chosen, and those among them that are not 0 there.

    A choice is made in what has all of its labels, and in the product of what has no others; where there is nothing of
    both, it is a factor of 1 and 0.
    """
    found: list[Term] = []
    exposed: list[Array] = []
    for under in dict.fromkeys(form.under):
        group = [term for term, masks_of_it in zip(factors, form.under, strict=True) if masks_of_it == under]
        turns = {label for mask in under for label in masks[mask].labels}
        within = [term for term in group if set(term.labels) <= turns]
        beyond = [term for term in group if set(term.labels) > turns]
        rest = [term for term in group if not (set(term.labels) <= turns or set(term.labels) > turns)]
        conditions = [masks[mask] for mask in under]
        if not under:
            found += group
            continue
        chosen = [[term] for term in beyond] + ([within] if within or not beyond else [])
        found += [_chosen(terms, conditions, group[0].array.dtype) for terms in chosen]
        found += rest
        exposed += [term.array for term in rest]
    return found, exposed


def _chosen(terms: Sequence[Term], conditions: Sequence[Term], dtype: np.dtype[Any]) -> Term:
    """The product of terms, and 0 where a condition is false; without terms 1 and 0."""
    labels = tuple(dict.fromkeys(label for term in (*terms, *conditions) for label in term.labels))
    return Term(_masked(terms, conditions, labels, dtype), labels)


def _masked(terms: Sequence[Term], conditions: Sequence[Term], labels: Labels, dtype: np.dtype[Any]) -> Array:
    """The array of `_chosen`, with an axis for each of these labels: of size 1 where no term has it."""
    zero, total = np.zeros((), dtype), None
    for term in terms:
        factor = widened(term.ordered(labels), labels)
        total = factor if total is None else op.Mul(total, factor)
    chosen: Any = np.ones((), dtype) if total is None else total
    for condition in conditions:
        chosen = op.Where(widened(condition.ordered(labels), labels), chosen, zero)
    return Array(chosen.value)


# Turn by turn.


def _turn_by_turn(factors: Sequence[Term], masks: Sequence[Term], form: Form) -> Array:
    """The sum by a loop over one of the labels that it is over, one of a mask where there is one."""
    sizes = {label: term.size(label) for term in (*masks, *factors) for label in term.labels}
    summed = [label for label in sizes if label not in form.result]
    if not summed:
        return _summed(factors, masks, form, sizes, ())
    walked, *others = summed
    walking = [term for term in (*factors, *masks) if walked in term.labels]
    rest = [tuple(label for label in term.labels if label != walked) for term in walking]
    sequences = [term.ordered([walked, *labels]).array for term, labels in zip(walking, rest, strict=True)]

    def step(total: Array, now: list[Array]) -> tuple[Array, None]:
        turn = {id(term): Term(x, labels) for term, x, labels in zip(walking, now, rest, strict=True)}
        inner = [[turn.get(id(term), term) for term in terms] for terms in (factors, masks)]
        return op.Add(total, _summed(inner[0], inner[1], form, sizes, tuple(others))), None

    start = full([sizes[label] for label in form.result], np.zeros((), factors[0].array.dtype))
    found: Array = scan(step, start, sequences)[0]
    return found


def _summed(
    factors: Sequence[Term], masks: Sequence[Term], form: Form, sizes: Mapping[Label, Dim], summed: Labels
) -> Array:
    """The product of the factors under their masks, summed over these labels."""
    labels = (*form.result, *summed)
    total: Array | None = None
    for under in dict.fromkeys(form.under):
        group = [term for term, masks_of_it in zip(factors, form.under, strict=True) if masks_of_it == under]
        part = _masked(group, [masks[mask] for mask in under], labels, factors[0].array.dtype)
        total = part if total is None else op.Mul(total, part)
    assert total is not None
    wide = expand_to(total, tuple(sizes[label] for label in labels))
    axes = list(range(len(form.result), len(labels)))
    return op.ReduceSum(wide, axes, keepdims=0) if axes else wide
