"""Lowers sums of products: to MatMul where values are contracted, to Conv where one of them is a window of an array."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from primsplit.frontends.loops.loopset import Bent, Picked, Reference
from primsplit.frontends.loops.lowering.functions import met
from primsplit.frontends.loops.lowering.space import Space
from primsplit.ir import dims
from primsplit.numpy.contraction import Term, sum_of_products
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import size_scalar


@dataclass(frozen=True, slots=True)
class Mask:
    """A choice between a value and 0: the line of the condition, and whether the value is chosen where it is true."""

    line: int
    chooses: bool
    loops: tuple[str, ...]
    made: Callable[[], Term] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Factor:
    """A value that others are multiplied with. `made` gives its array; `window` is what it loads by a sum of loops.

    The product of factors with the same `masks` is 0 where one of these does not choose it.
    """

    loops: tuple[str, ...]
    made: Callable[[], Term]
    window: Reference | None = None
    masks: tuple[Mask, ...] = ()

    def spans(self) -> Iterator[set[str]]:
        """The loops of each array in the factor."""
        yield set(self.loops)
        yield from (set(mask.loops) for mask in self.masks)


Factors = tuple[Factor, ...]


def factor_of(term: Term) -> Factor:
    """A value that is made already."""
    return Factor(tuple(map(str, term.labels)), lambda: term)


def is_window(space: Space, reference: Reference) -> bool:
    """Return whether an index is a sum of two loops."""
    plain = [i.index if isinstance(i, Bent) else i for i in reference.indices]
    return any(not isinstance(i, Picked) and len(space.course(i).terms) == 2 for i in plain)


def alike(factors: Iterable[Factor]) -> tuple[list[Term], bool]:
    """The arrays of the factors in the dtype that their product has, and whether it is weak."""
    terms = [factor.made() for factor in factors]
    weak = all(term.array.weak for term in terms)
    given = met(terms)
    dtype = np.result_type(*(term.array.dtype for term in given))
    dtype = np.dtype(np.int64) if dtype == np.bool_ else dtype
    return [Term(cast_to(Array(term.array.value), dtype), term.labels) for term in given], weak


def summed(space: Space, factors: Factors, kept: Sequence[str], reduced: Sequence[str]) -> Term:
    """The product of the factors, summed over the reduced loops: over those of the kept loops that it depends on."""
    terms, weak = alike(factors)
    found = contracted(space, terms, kept, reduced)
    return Term(Array(found.array.value, weak=weak), found.labels)


def contracted(space: Space, terms: Sequence[Term], kept: Sequence[str], reduced: Sequence[str]) -> Term:
    """The product of terms of one dtype, summed over the reduced loops.

    A number is multiplied with the sum, and what a loop that no term has adds up to is its count.
    """
    spread = [term for term in terms if term.labels]
    numbers = [term.array for term in terms if not term.labels]
    output = [loop for loop in kept if any(loop in term.labels for term in spread)]
    missing = [loop for loop in reduced if not any(loop in term.labels for term in spread)]
    times = dims.product(space.count(loop) for loop in missing)
    if not dims.is_one(times):
        numbers.append(cast_to(size_scalar(times), terms[0].array.dtype))
    found = [sum_of_products(spread, output)] if spread else []
    total, *others = [*found, *numbers]
    for number in others:
        total = op.Mul(total, number)
    return Term(total, tuple(output))
