"""Records a nest as operators: its operations one after the other, each where it is first needed.

    y[i] := x[i + a] * k[a]
    becomes
    Conv(x, k)                # after adding axes for batch and channel

Sums wait until their terms are known: a product of several values is contracted by MatMul and never built, and a
product with a window of an array is a Conv (`sums.py`). Every other value is an array over the operation's loops.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.frontends.loops.building import loops_of
from primsplit.frontends.loops.interpreter import identity
from primsplit.frontends.loops.loopset import LoopSet, Operation, Reference
from primsplit.frontends.loops.lowering.functions import computed
from primsplit.frontends.loops.lowering.masks import masked_sum
from primsplit.frontends.loops.lowering.reading import load
from primsplit.frontends.loops.lowering.space import Run, Space
from primsplit.frontends.loops.lowering.storing import Summed, store
from primsplit.frontends.loops.lowering.sums import Factor, Factors, Mask, factor_of, is_window, summed
from primsplit.frontends.loops.lowering.windowed_sums import convolved
from primsplit.frontends.loops.sizes import Sizes
from primsplit.ir import dims
from primsplit.numpy.contraction import Term
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.broadcasting import size_scalar

Functions = Mapping[str, Callable[..., Any]]


def lower(
    nest: LoopSet, arrays: Mapping[str, Array], sizes: Sizes, functions: Functions | None = None
) -> dict[str, Array]:
    """Record the nest; return its results, by the names that the user gave them.

    `arrays` are its arguments, and those that another nest stored for it; `sizes` are of `sizes.check`; `functions` are
    the scalar functions that it knows by name beside those of `functions.FUNCTIONS`. Raises UnsupportedFunction.
    """
    runs = {loop.name: Run.between(sizes.of(loop.start), sizes.of(loop.stop)) for loop in nest.loops}
    lowering = _Lowering(nest, Space(sizes, runs, arrays), functions or {})
    for at, operation in enumerate(nest.operations):
        if operation.kind == "store":
            lowering.store(at)
    return {name: lowering.space.arrays[version] for name, version in nest.results}


REDUCTIONS: Mapping[str, Callable[..., Any]] = {"multiply": np.prod, "maximum": np.max, "minimum": np.min}


class _Lowering:
    """The values of a nest's operations, made when they are first asked for."""

    def __init__(self, nest: LoopSet, space: Space, functions: Functions) -> None:
        self.nest = nest
        self.space = space
        self.functions = functions
        self.values: dict[int, Term] = {}
        self.orders = dict(_stored_orders(nest))

    def value(self, at: int) -> Term:
        """The array of an operation, over the loops that it depends on."""
        found = self.values.get(at)
        if found is None:
            found = self.values[at] = self._made(at)
        return found

    def _made(self, at: int) -> Term:
        operation = self.nest.operations[at]
        if operation.kind == "constant":
            return Term(as_array(operation.value), ())
        if operation.kind == "size":
            assert operation.length is not None
            return Term(Array(size_scalar(self.space.sizes.of(operation.length)).value, weak=True), ())
        if operation.kind == "index":
            number = self.space.number(operation.function)
            return Term(Array(number.array.value, weak=True), number.labels)
        if operation.kind == "load":
            assert operation.reference is not None
            return load(self.space, operation.reference)
        if operation.kind == "compute":
            function, parents = self._quotient_by_root(operation) or (operation.function, operation.parents)
            operands = [self.value(parent) for parent in parents]
            return computed(function, operands, operation.loops, self.functions)
        return self._reduced(operation, self.orders.get(at, operation.loops))

    def _quotient_by_root(self, operation: Operation) -> tuple[str, tuple[int, int]] | None:
        """`n / off_zero(y)` as a quotient whose 0 / 0 the composition around the nest decides."""
        if operation.function != "divide":
            return None
        numerator, divisor = operation.parents
        by = self.nest.operations[divisor]
        return ("root_quotient", (numerator, by.parents[0])) if by.function == "off_zero" else None

    def factors(self, at: int) -> Factors:
        """The values whose product an operation is.

        A quotient or a choice is taken apart only where its numerator, or what is chosen, is larger than each factor of
        it: to be contracted, and not made.
        """
        operation = self.nest.operations[at]
        whole = Factor(operation.loops, lambda: self.value(at), self._window(operation))
        if at in self.values or operation.kind != "compute":
            return (whole,)
        parents = operation.parents
        if operation.function == "multiply":
            return tuple(factor for parent in parents for factor in self.factors(parent))
        if operation.function == "negative":
            return (*self.factors(parents[0]), factor_of(Term(as_array(-1), ())))
        if operation.function == "divide" and self._widens(parents[0]):
            over = self.nest.operations[parents[1]].loops
            return (*self.factors(parents[0]), Factor(over, lambda: self._reciprocal(parents[1])))
        return (self._choice(operation) if operation.function == "where" else None) or (whole,)

    def _window(self, operation: Operation) -> Reference | None:
        """The reference of a load with an index that is a sum of loops, else None."""
        reference = operation.reference
        is_load = operation.kind == "load" and reference is not None
        return reference if is_load and reference is not None and is_window(self.space, reference) else None

    def _widens(self, at: int) -> bool:
        """Whether a product is larger than each of its factors."""
        loops = set(self.nest.operations[at].loops)
        return all(not loops <= span for factor in self.factors(at) for span in factor.spans())

    def _is_zero(self, at: int) -> bool:
        operation = self.nest.operations[at]
        return operation.kind == "constant" and operation.value == 0

    def _reciprocal(self, at: int) -> Term:
        value = self.value(at)
        return computed("divide", [Term(as_array(1), ()), value], tuple(map(str, value.labels)), {})

    def _choice(self, operation: Operation) -> Factors | None:
        """The factors of a choice between a value and 0 that is larger than each of them; None for any other."""
        condition, *sides = operation.parents
        zeros = [at for at in sides if self._is_zero(at)]
        chosen = next((at for at in sides if at not in zeros), condition)
        factors = self.factors(chosen)
        loops = set(operation.loops)
        if len(zeros) != 1 or any(loops <= span for factor in factors for span in factor.spans()):
            return None
        turns = self.nest.operations[condition].loops
        mask = Mask(condition, chosen == sides[0], turns, lambda: self.value(condition))
        return tuple(replace(factor, masks=(*factor.masks, mask)) for factor in factors)

    def _reduced(self, operation: Operation, order: tuple[str, ...]) -> Term:
        """The result of a reduction; `order` is the preferred order of its loops."""
        *start, body = operation.parents
        if operation.function == "add":
            found = self._summed(body, order, operation.reduced)
        else:
            found = self._combined(operation.function, self.value(body), operation)
        if not start:
            return found
        return computed(operation.function, [self.value(start[0]), found], operation.loops, {})

    def _summed(self, at: int, kept: tuple[str, ...], reduced: tuple[str, ...]) -> Term:
        """The sum over loops; that of two products which are larger than their factors is two sums."""
        at, reduced = self._unsummed(at, reduced)
        operation = self.nest.operations[at]
        is_sum = operation.kind == "compute" and operation.function in {"add", "subtract"} and at not in self.values
        if is_sum and any(map(self._widens, operation.parents)):
            parts = [self._summed(parent, kept, reduced) for parent in operation.parents]
            return computed(operation.function, parts, kept, {})

        def total(factors: Factors) -> Term:
            return convolved(self.space, factors, kept, reduced) or summed(self.space, factors, kept, reduced)

        return masked_sum(self.space, self.factors(at), kept, reduced, total)

    def _unsummed(self, at: int, reduced: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """The summand and all loops of its sum, if the value to sum is itself a sum."""
        operation = self.nest.operations[at]
        while operation.kind == "reduce" and operation.function == "add" and len(operation.parents) == 1:
            if at in self.values:
                break
            at, reduced = operation.parents[0], (*reduced, *operation.reduced)
            operation = self.nest.operations[at]
        return at, reduced

    def _combined(self, function: str, value: Term, operation: Operation) -> Term:
        """The product, maximum or minimum over the reduced loops."""
        reduced = operation.reduced
        kept = tuple(loop for loop in operation.loops if loop in value.labels)
        array = self.space.wide(value, (*kept, *reduced))
        if array.dtype == np.bool_ and function == "multiply":
            array = array.astype(np.int64)
        axes = tuple(range(len(kept), len(kept) + len(reduced)))
        named: dict[str, Any] = {}
        if function != "multiply" and not all(dims.at_least(self.space.count(loop), 1) for loop in reduced):
            named = {"initial": identity(function, array.dtype)[()]}
        found = REDUCTIONS[function](Array(array.value), axis=axes, **named)
        return Term(Array(as_array(found).value, weak=value.array.weak), kept)

    def store(self, at: int) -> None:
        """Make the array that a store makes."""
        operation = self.nest.operations[at]
        (parent,) = operation.parents
        inner, reduced = self._unsummed(parent, ())
        summed_up = Summed(lambda: self.value(parent), lambda: self.factors(inner), reduced)
        self.space.arrays[operation.makes] = store(self.space, operation, summed_up)


def _stored_orders(nest: LoopSet) -> Iterator[tuple[int, tuple[str, ...]]]:
    """For what is stored, its loops in the order in which they index the array."""
    for operation in nest.operations:
        if operation.kind != "store" or operation.reference is None:
            continue
        (parent,) = operation.parents
        loops = nest.operations[parent].loops
        indexed = [loop for loop in loops_of(operation.reference) if loop in loops]
        yield parent, tuple(dict.fromkeys([*indexed, *loops]))
