"""Fuse a sum with a matrix product in derivatives: the addend becomes the Gemm's third operand.

```
Add(MatMul(a, b), c)   ->   Gemm(a, b, c)
```

That saves a pass over memory. It rounds differently, so that ops of values (not of derivatives) are left alone.
"""

from collections.abc import Sequence

from primsplit.ir import Block, Op, same_types
from primsplit.rewrites.products.derivatives import OfReadOnce

PRODUCTS = frozenset({"Gemm", "MatMul"})
DTYPES = frozenset({"float32", "float64"})
SMALL = 2**14
"""Up to so many bytes, a product is deferred until it is added."""
NEAR = 3
"""An addend may follow a large product by so many ops: the product's operands stay in memory until then."""


def addends_in_products(block: Block, gradients: Sequence[int]) -> Block:
    """Return the block with `a @ b + c` as one op, where only the results in `gradients`, by position, need it."""
    if PRODUCTS.isdisjoint(block.kinds):
        return block
    return _Adding(block, gradients).run_and_drop(block)


class _Adding(OfReadOnce):
    """The walk over blocks with sums."""

    kinds = frozenset({"Add"})

    def visit(self, op: Op) -> Op | None:
        """Return a sum as a Gemm of three, or the op."""
        if op.kind == "Add" and op.outputs[0] not in self.early and op.outputs[0].type.key[0] in DTYPES:
            op = self.in_product(op) or op
        return super().visit(op)

    def in_product(self, op: Op) -> Op | None:
        """Return `a @ b + c` as a Gemm of three, if c exists before the product."""
        first, second = op.inputs
        if self.made.get(first, (-1,))[0] > self.made.get(second, (-1,))[0]:
            first, second = second, first
        product = self.maker(second, *PRODUCTS)
        if product is None or first is None or second is None or not is_product_of_two(product):
            return None
        if not same_types(first.type, op.outputs[0].type) or not same_types(second.type, op.outputs[0].type):
            return None
        if not second.type.takes_at_most(SMALL) and len(self.made) - self.made[second][0] > NEAR:
            return None
        left, right = product.inputs[:2]
        transposes = {k: product.attributes.get(k, 0) for k in ("transA", "transB")}
        return product.beside("Gemm", (left, right, first), op.outputs, transposes)


def is_product_of_two(product: Op) -> bool:
    """Whether it multiplies two matrices that share an axis of a known size; a Gemm must neither scale nor add."""
    left, right, *added = product.inputs
    if added and added[0] is not None:
        return False
    if any(product.attributes.get(name, 1.0) != 1.0 for name in ("alpha", "beta")):
        return False
    if left is None or right is None or left.type.rank != 2 or right.type.rank != 2:
        return False
    assert left.type.shape is not None
    terms = left.type.shape[0 if product.attributes.get("transA") else 1]
    return isinstance(terms, int) and terms > 0
