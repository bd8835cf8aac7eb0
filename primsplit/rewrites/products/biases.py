"""Fuse a bias with the matrix product `x @ w.T`: it becomes the Gemm's third operand, without a pass over memory.

```
Add(Gemm(x, w, transB=1), b)     ->   Gemm(x, w, b, transB=1)
Add(Reshape(MatMul(x, w)), b)    ->   Reshape(Gemm(x, w, b))
```

onnxruntime itself fuses a MatMul and an Add, but not a Gemm, nor across a Reshape. Either way the bias is added to the
sums.
"""

from primsplit.ir import Block, Op, Value, Var, dims
from primsplit.rewrites.products.addends import DTYPES, PRODUCTS, is_product_of_two
from primsplit.rewrites.uses import LookingUp, Ops


def biases_in_products(block: Block) -> Block:
    """Return the block with `Gemm(x, w) + b` as one op, and `reshape(x @ w) + b` as a Reshape of one."""
    if PRODUCTS.isdisjoint(block.kinds):
        return block
    return _Adding().run_and_drop(block)


class _Adding(LookingUp):
    """The walk over blocks with sums."""

    kinds = frozenset({"Add"})

    def visit(self, op: Op) -> Op | None:
        """Return a sum as a Gemm of three, or a view of one; or the op."""
        if op.kind != "Add" or op.outputs[0].type.key[0] not in DTYPES:
            return super().visit(op)
        for product, bias in (op.inputs, op.inputs[::-1]):
            found = self.in_product(op, product, bias)
            if found is not None:
                return found
        return super().visit(op)

    def in_product(self, op: Op, value: Value | None, bias: Value | None) -> Op | None:
        """Return `value + bias` if value is a product, or a reshape of one that keeps its rows."""
        view = self.ops.op(value, "Reshape")
        product = _product(value if view is None else view.inputs[0], self.ops, PRODUCTS if view else {"Gemm"})
        if product is None or not _is_bias(bias, product) or value is None or value.type.shape is None:
            return None
        made = product.outputs[0]
        assert made.type.shape is not None
        if not dims.same(value.type.shape[-1], made.type.shape[-1]) or value.type.rank != op.outputs[0].type.rank:
            return None
        transposes = {k: product.attributes.get(k, 0) for k in ("transA", "transB")}
        operands = (*product.inputs[:2], bias)
        if view is None:
            return product.beside("Gemm", operands, op.outputs, transposes)
        added = Var(made.type, made.hint)
        self.kept.append(product.beside("Gemm", operands, (added,), transposes))
        return view.beside("Reshape", (added, *view.inputs[1:]), op.outputs, view.attributes)


def _product(value: Value | None, ops: Ops, kinds: frozenset[str] | set[str]) -> Op | None:
    """Return the product of two matrices that the value is, if nothing else reads it."""
    product = next((p for kind in sorted(kinds) if (p := ops.op(value, kind)) is not None), None)
    return product if product is not None and is_product_of_two(product) else None


def _is_bias(value: Value | None, product: Op) -> bool:
    """Whether it is a vector as long as the rows of the product."""
    rows = product.outputs[0].type.shape
    shape = None if value is None else value.type.shape
    return rows is not None and shape is not None and len(shape) == 1 and dims.same(shape[0], rows[-1])
