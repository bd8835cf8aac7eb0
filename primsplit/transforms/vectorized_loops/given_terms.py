"""Reassociate sums in the steps of Scans: add up terms of the elements before adding them to terms of the carries.

`(x + a) + b` of a carry x and of elements a and b is `x + (a + b)`, and `a + b` is then computed for all steps at once,
in front of the Scan. The same holds if a small sum is read through a view, such as a Slice. It rounds differently, so
only sums in tangents and pullbacks are changed.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from primsplit.ir import Block, Op, Value, Var, readers, reads, same_types
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ops.traits import is_linear
from primsplit.rewrites.products.derivatives import OfDerivatives
from primsplit.rewrites.rewriting import Rewriter
from primsplit.transforms.vectorized_loops.fission import is_little


def given_terms_first(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block with sums in Scans' steps reordered, in ops that only the results in `gradients` need."""
    if "Scan" not in block.kinds:
        return block
    return _OfScans(block, gradients).run_and_drop(block)


class _OfScans(OfDerivatives):
    """The walk over the Scans of derivatives."""

    kinds = frozenset({"Scan"})

    def visit(self, op: Op) -> Op | None:
        """Return a Scan with its body's sums reordered, or the op."""
        if op.kind == "Scan":
            body: Block = op.attributes["body"]
            found = _Adding(body, lead_and_carries(op)[1], self.early).run(body)
            if found is not body:
                op = replace(op, attributes={**op.attributes, "body": found})
        return super().visit(op)


class _Adding(Rewriter):
    """The walk over one body. `moving` depends on the carries, `elements` on the sequences alone.

    `sums` are the Adds that depend on the carries, without the `early` ones, and views of them, by result; `inner` are
    those that only another one reads.
    """

    def __init__(self, body: Block, count: int, early: Collection[Var]) -> None:
        super().__init__()
        self.moving, self.elements = set(body.params[:count]), set(body.params[count:])
        self.sums: dict[Value | None, Op] = {}
        self.inner: set[Value | None] = set()
        read_by = readers(body.ops, body.results)
        for op in body.ops:
            if self.moving.isdisjoint(reads(op)):
                if not self.elements.isdisjoint(reads(op)):
                    self.elements.update(op.outputs)
                continue
            self.moving.update(op.outputs)
            if op.outputs[0] not in early and (self.is_sum(op) or self.is_view(op, read_by)):
                self.sums[op.outputs[0]] = op
                self.inner.update(v for v in reads(op) if v in self.sums and len(read_by[v]) == 1)

    def is_sum(self, op: Op) -> bool:
        """Whether the op adds values of its type, or of what is the same in all steps."""
        made = op.outputs[0].type
        return op.kind == "Add" and all(self.is_fixed(v) or same_types(v.type, made) for v in _terms(op))

    def is_view(self, op: Op, read_by: Mapping[Var, Sequence[Op | None]]) -> bool:
        """Whether the op is a view of a small sum that nothing else reads, with terms of its type."""
        total, *rest = op.inputs
        if not is_linear(op) or len(op.outputs) > 1 or not isinstance(total, Var) or total not in self.sums:
            return False
        if len(read_by[total]) > 1 or not is_little(total) or not self.moving.isdisjoint(rest):
            return False
        return all(same_types(v.type, total.type) for v in self.given(total))

    def is_fixed(self, value: Value) -> bool:
        """Whether the value is the same in all steps."""
        return value not in self.moving and value not in self.elements

    def visit(self, op: Op) -> Op | None:
        """Return the sum of the carries' terms and of the sum of the other terms."""
        made = op.outputs[0]
        if op.kind != "Add" or made not in self.sums or made in self.inner:
            return op
        given = self.given(made)
        if len(given) < 2 or all(map(self.is_fixed, given)):
            return op
        return op.beside("Add", (self.of_carries(made), self.added(op, self.given(made, records=True))), op.outputs)

    def given(self, total: Value, *, records: bool = False) -> list[Value]:
        """Return the terms of a sum that depend on no carry, through views too.

        With `records`, each view's as one recorded sum.
        """
        terms: list[Value] = []
        for v in _terms(self.sums[total]):
            if v in self.inner:
                terms += self.given(v, records=records)
            elif v not in self.moving:
                terms.append(v)
        op = self.sums[total]
        if not records or op.kind == "Add" or not terms:
            return terms
        viewed = self.sums[op.inputs[0]]
        return [self.recorded(op, self.added(viewed, terms), *op.inputs[1:])]

    def of_carries(self, total: Value) -> Value:
        """Return the sum of the carries' terms, recorded in their order."""
        op = self.sums[total]
        terms = [self.of_carries(v) if v in self.inner else v for v in _terms(op) if v in self.moving]
        return (
            terms[0]
            if len(terms) == 1 and op.kind == "Add"
            else self.recorded(op, *terms, *op.inputs[len(_terms(op)) :])
        )

    def added(self, op: Op, terms: Sequence[Value]) -> Value:
        """Record the sum of terms, of which one at least has the type of the op's result."""
        total, *rest = sorted(terms, key=lambda v: not same_types(v.type, op.outputs[0].type))
        for term in rest:
            total = self.recorded(op, total, term)
        return total

    def recorded(self, op: Op, *inputs: Value | None) -> Var:
        """Record an op like this one on other inputs; return its result."""
        made = Var(op.outputs[0].type)
        self.kept.append(replace(op, inputs=inputs, outputs=(made,)))
        return made


def _terms(op: Op) -> list[Value]:
    """Return the operands of a sum, or the operand of a view."""
    return [v for v in (op.inputs if op.kind == "Add" else op.inputs[:1]) if v is not None]
