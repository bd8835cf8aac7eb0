"""np.einsum, from an equation or from lists of labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import ShapeError
from primsplit.numpy.contraction import Labels, Term, sum_of_products
from primsplit.numpy.layout import maybe_copy
from primsplit.numpy.products import computed, operands, to_out
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array, implements
from primsplit.tracing.asarray import array_like
from primsplit.tracing.handles.concretization import literal_size


@implements(np.einsum)
def einsum(*inputs: Any, out: Any = None, optimize: Any = False, dtype: Any = None, **unused: Any) -> Array:
    """Any einsum, as Transpose, Reshape, MatMul, Mul and ReduceSum. `optimize` is accepted: pairs are always chosen."""
    given, names, output = _written_as_text(inputs) if isinstance(inputs[0], str) else _written_as_lists(inputs)
    arrays = operands(*given) if dtype is None else [cast_to(array_like(a), dtype) for a in given]
    labels, wanted = spread_ellipses(names, output, [len(a.shape) for a in arrays])
    missing = {x for term in labels for x in term if isinstance(x, tuple)} - set(wanted)
    if missing:
        raise ShapeError("einsum: the output needs an ellipsis, since an operand has one", place=tracing.user_place())

    def summed(*factors: Array) -> Array:
        return sum_of_products([Term(*pair) for pair in zip(factors, labels, strict=True)], wanted)

    if out is None and len(arrays) == 1 and set(wanted) == set(labels[0]):
        # NumPy gives a view, which is no array of its own to write to.
        return maybe_copy(arrays[0], lambda source: computed(summed, source))
    return to_out(computed(summed, *arrays), out)


@implements(np.einsum_path)
def einsum_path(*inputs: Any, **options: Any) -> Any:
    """The order of products that NumPy would choose for arrays of these shapes, which are known when tracing."""
    return np.einsum_path(*(_of_shape(x) if isinstance(x, Array) else x for x in inputs), **options)


def _of_shape(x: Array) -> Any:
    """An array of NumPy's in the shape, of one element in memory."""
    return np.broadcast_to(np.zeros((), np.bool_), [literal_size(d, "np.einsum_path") for d in x.shape])


Names = list[Any]
"""Labels, an ellipsis among them being `...`."""


def _written_as_lists(inputs: Sequence[Any]) -> tuple[list[Any], list[Names], Names | None]:
    count = len(inputs) // 2
    output = list(inputs[-1]) if len(inputs) % 2 else None
    return list(inputs[0 : 2 * count : 2]), [list(x) for x in inputs[1 : 2 * count : 2]], output


def _written_as_text(inputs: Sequence[Any]) -> tuple[list[Any], list[Names], Names | None]:
    names, output = _read_equation(inputs[0])
    return list(inputs[1:]), names, output


def _read_equation(equation: str) -> tuple[list[Names], Names | None]:
    left, arrow, right = equation.replace(" ", "").partition("->")
    return [_letters(term) for term in left.split(",")], _letters(right) if arrow else None


def _letters(term: str) -> Names:
    before, dots, after = term.partition("...")
    if before + after and not (before + after).isalpha():
        raise ShapeError(f"einsum: {term!r} is no list of labels", place=tracing.user_place())
    return [*before, *([...] if dots else []), *after]


def equation_labels(equation: str | bytes, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """One label an axis of each operand, and the output's labels, of an equation. Raises ShapeError."""
    return spread_ellipses(*_read_equation(equation.decode() if isinstance(equation, bytes) else equation), ranks)


def spread_ellipses(names: Sequence[Names], output: Names | None, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Labels for the axes that each ellipsis stands for, counted from its end; the output made where it is implicit.

    An implicit output is the ellipsis, then the labels that occur once, sorted. Raises ShapeError at the user's line.
    """
    if len(names) != len(ranks):
        raise ShapeError(f"einsum: {len(names)} terms for {len(ranks)} operands", place=tracing.user_place())
    labels = [_spread(term, rank) for term, rank in zip(names, ranks, strict=True)]
    every = [label for term in labels for label in term]
    if output is None:
        once = (label for label in every if not isinstance(label, tuple) and every.count(label) == 1)
        output = [..., *sorted(once)]
    widest = sorted({x for x in every if isinstance(x, tuple)}, key=lambda x: -int(x[1]))
    wanted = tuple(x for name in output for x in (widest if name is ... else [name]))
    if len(set(wanted)) < len(wanted) or set(wanted) - set(every):
        raise ShapeError("einsum: an output label is repeated, or no operand has it", place=tracing.user_place())
    return labels, wanted


def _spread(names: Names, rank: int) -> Labels:
    count = rank - (len(names) - names.count(...))
    if count < 0 or (count and ... not in names):
        raise ShapeError(f"einsum: an operand with {rank} axes has {len(names)} labels", place=tracing.user_place())
    ellipsis = [("...", k) for k in range(count - 1, -1, -1)]
    return tuple(x for name in names for x in (ellipsis if name is ... else [name]))
