"""Find carries of a Scan that only sum a term of each step.

```
Scan(g, xs) body(g, x): g' = Add(g, MatMul(Transpose(x), w))   ->   a Sum of the term x.T @ w, with factors x and w
```
"""

from collections.abc import Sequence
from dataclasses import dataclass

from primsplit.ir import Block, Op, Value, Var, readers
from primsplit.tracing.regions import visible


@dataclass(frozen=True, slots=True)
class Term:
    """A term that a step adds to a sum: a value, which may be the product of `factors` over their first axis."""

    value: Var
    add: Op
    factors: tuple[Var, Var] | None

    @property
    def sources(self) -> tuple[Var, ...]:
        """The values that must be stacked over all steps for the sum."""
        return self.factors or (self.value,)


@dataclass(frozen=True, slots=True)
class Sum:
    """A carry that only sums the `terms` of each step."""

    carry: int
    terms: tuple[Term, ...]

    @property
    def sources(self) -> tuple[Var, ...]:
        """The values that must be stacked over all steps for the sum."""
        return tuple(v for term in self.terms for v in term.sources)


def sums_of(body: Block, count: int, known: frozenset[str]) -> list[Sum]:
    """Return the carries that only sum terms of each step."""
    read_by = readers(body.ops, body.results)
    made_by: dict[Var, Op | None] = {**dict.fromkeys(body.params), **{v: op for op in body.ops for v in op.outputs}}
    found = []
    for k in range(count):
        added = _added(body.params[k], body.results[k], read_by)
        if added and all(v in made_by for v in added):
            terms = (Term(v, add, _factors(made_by[v], read_by, made_by, known)) for v, add in added.items())
            found.append(Sum(k, tuple(terms)))
    return found


def _added(carry: Var, result: Value, read_by: dict[Var, list[Op | None]]) -> dict[Var, Op]:
    """Return the terms that a step adds to a carry, with their Adds; none if a step does anything else with it."""
    found: dict[Var, Op] = {}
    while carry is not result:
        (add, *others) = read_by.get(carry, [None])
        if add is None or add.kind != "Add" or others:
            return {}
        term = next((v for v in add.inputs if v is not carry), None)
        if not isinstance(term, Var) or term.type != carry.type or term in found:
            return {}
        found[term] = add
        carry = add.outputs[0]
    return found if read_by[carry] == [None] else {}


def _factors(
    term: Op | None, read_by: dict[Var, list[Op | None]], made_by: dict[Var, Op | None], known: frozenset[str]
) -> tuple[Var, Var] | None:
    """Return the matrices a and b of a term a.T @ b that nobody else reads, if both belong to the step."""
    if term is None or term.kind != "MatMul" or len(read_by[term.outputs[0]]) != 1:
        return None
    left, right = term.inputs
    turned = made_by.get(left) if isinstance(left, Var) else None
    if turned is None or turned.kind != "Transpose" or turned.attributes.get("perm", [1, 0]) != [1, 0]:
        return None
    a = turned.inputs[0]
    if not isinstance(a, Var) or not isinstance(right, Var) or a.type.rank != 2 or right.type.rank != 2:
        return None
    if a not in made_by or right not in made_by:
        return None
    return (a, right) if visible([a, right]) <= known else None


def summing_ops(body: Block, sums: Sequence[Sum]) -> list[Op]:
    """Return the ops that disappear with the sums: the additions, and the matrix products."""
    made_by = {v: op for op in body.ops for v in op.outputs}
    read_by = readers(body.ops, body.results)
    found = []
    for term in (term for each in sums for term in each.terms):
        found.append(term.add)
        if term.factors is not None:
            product_of = made_by[term.value]
            found.append(product_of)
            left = product_of.inputs[0]
            if isinstance(left, Var) and len(read_by[left]) == 1:
                found.append(made_by[left])
    return found
