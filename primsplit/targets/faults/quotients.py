"""Write products with a reciprocal that nobody else reads as quotients, as onnxruntime would.

```
r = Div(1.0, n);  y = Mul(r, x)   ->   y = Div(x, n)
```

onnxruntime makes y / n of (1 / n) * y when it loads a file, and then no longer counts the quotient among the readers of
y (1.20 to 1.32.0, its rule DivMulFusion). If y is a reciprocal too, read by another product, that one is then taken for
the only reader: y is dropped, and the file does not load. Quotients leave nothing to rewrite. They round once, the
product rounds twice.

For integers 1 / n is 0 except for n of 1 and -1, and the quotient another number: there the two are kept apart.
"""

from primsplit.ir import Block, Op, Value, Var, readers, same_types
from primsplit.ir.runtimes import fault
from primsplit.rewrites.rewrites.table import number
from primsplit.rewrites.rewriting import Rewriter, reading_again


@fault(
    "reader_lost_by_a_fused_quotient",
    kind="refuses",
    operators=("Div", "Mul"),
    says="`(1 / x) * y` is rewritten as `y / x`, and y is removed if it is itself a reciprocal that another "
    "product reads: the file does not load.",
)
@fault(
    "quotient_of_whole_numbers",
    kind="wrong",
    operators=("Div", "Mul"),
    says="`(1 / x) * y` of whole numbers is rewritten as `y / x`, which is another number.",
)
def write_quotients(block: Block) -> Block:
    """Return the block with y / n for every (1 / n) * y; itself if there is none."""
    return _Quotients().run(block)


class _Quotients(Rewriter):
    """The walk.

    `divisors` maps the result of each such product to n; `gone` are its reciprocals, `whole` integer ones.
    """

    kinds = frozenset({"Div"})

    def __init__(self) -> None:
        super().__init__()
        self.divisors: dict[Var, tuple[int, Value]] = {}
        self.gone: set[Var] = set()
        self.whole: set[Value | None] = set()

    def enter(self, block: Block) -> None:
        """Find the products of the block."""
        read_by = readers(block.ops, block.results)
        inverted = {op.outputs[0]: op.inputs[1] for op in block.ops if _is_reciprocal(op)}
        self.whole.update(op.outputs[0] for op in block.ops if _is_whole_reciprocal(op))
        for op in block.ops:
            if op.kind != "Mul":
                continue
            for place, value in enumerate(op.inputs):
                divisor = inverted.get(value) if isinstance(value, Var) else None
                if divisor is not None and isinstance(value, Var) and len(read_by[value]) == 1:
                    self.divisors[op.outputs[0]] = place, divisor
                    self.gone.add(value)
                    break

    def visit(self, op: Op) -> Op | None:
        """None for a reciprocal; a quotient for its product."""
        if op.outputs[0] in self.gone:
            return None
        found = self.divisors.get(op.outputs[0])
        if found is None:
            return self.apart(op) if op.kind == "Mul" and not self.whole.isdisjoint(op.inputs) else super().visit(op)
        place, divisor = found
        return op.beside("Div", (op.inputs[1 - place], self.value(divisor)), op.outputs)

    def apart(self, op: Op) -> Op:
        """Return a product after ops that recompute its integer reciprocals: add an axis and remove it."""
        *made, product = reading_again(op, [v for v in op.inputs if v in self.whole])
        self.kept.extend(made)
        return product


def _is_whole_reciprocal(op: Op) -> bool:
    return op.kind == "Div" and op.outputs[0].type.dtype.kind in "iu" and number(op.inputs[0]) == 1


def _is_reciprocal(op: Op) -> bool:
    """Whether it is 1 / n of n's own type."""
    if op.kind != "Div" or not op.outputs[0].type.is_float or number(op.inputs[0]) != 1:
        return False
    divisor = op.inputs[1]
    return divisor is not None and same_types(op.outputs[0].type, divisor.type)
