"""Keeps onnxruntime from computing float64 in float32.

onnxruntime 1.31.1 fuses a MatMul with a multiplication or division by a constant number, on its output or on an input
(through a Transpose too), into FusedMatMul, whose factor is a float32: float64 products lose nine digits, without a
word. A Gemm is not fused so; nor is a MatMul that a `Sum` of one input stands beside, which costs a copy.
"""

from collections.abc import Collection

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, is_call

SCALINGS = frozenset({"Mul", "Div"})


def keep_double_products(block: Block, *, is_function: bool = False) -> Block:
    """The block with every float64 MatMul beside a constant factor written so that no factor is fused into it.

    What a function's parameters come from and its results go to may be such a factor.
    """
    if not any(op.kind == "MatMul" and op.outputs[0].type.dtype == np.float64 for op in block.ops):
        return _inside(block) if any(any(op.blocks()) for op in block.ops) else block
    makers = {v: op for op in block.ops for v in op.outputs}
    scaled = _scaled_results(block, makers)
    outside = frozenset(block.params) if is_function else frozenset()
    if is_function:
        scaled.update(v for v in block.results if isinstance(v, Var))
    ops: list[Op] = []
    for op in block.ops:
        if op.kind != "MatMul" or op.outputs[0].type.dtype != np.float64:
            ops.append(op)
        elif op.outputs[0] in scaled or any(_is_scaled(v, makers, outside) for v in op.inputs):
            ops.extend(_guarded(op))
        else:
            ops.append(op)
    return _inside(Block(block.name, block.params, tuple(ops), block.results))


def _inside(block: Block) -> Block:
    """The sub-blocks of the block's ops treated likewise."""
    ops = []
    for op in block.ops:
        if not is_call(op) and any(op.blocks()):
            attributes = {k: keep_double_products(v) if isinstance(v, Block) else v for k, v in op.attributes.items()}
            ops.append(Op(op.kind, op.inputs, op.outputs, attributes, op.place, op.remark))
        else:
            ops.append(op)
    return Block(block.name, block.params, tuple(ops), block.results)


def _scaled_results(block: Block, makers: dict[Var, Op]) -> set[Var]:
    """The Vars that are multiplied or divided by a constant number."""
    return {
        v
        for op in block.ops
        if op.kind in SCALINGS and _has_number(op, makers)
        for v in op.inputs
        if isinstance(v, Var)
    }


def _is_scaled(value: Value | None, makers: dict[Var, Op], outside: Collection[Var]) -> bool:
    """True where the value is, but for Transposes, something multiplied or divided by a constant number, or may be."""
    while isinstance(value, Var) and value in makers:
        op = makers[value]
        if op.kind in SCALINGS:
            return _has_number(op, makers)
        if op.kind != "Transpose":
            return False
        value = op.inputs[0]
    return value in outside


def _has_number(op: Op, makers: dict[Var, Op]) -> bool:
    return any(_is_number(v, makers) for v in op.inputs)


def _is_number(value: Value | None, makers: dict[Var, Op]) -> bool:
    """True for a constant of one element, or what onnxruntime folds to one."""
    if value is None or isinstance(value, Const):
        return value is not None and value.is_small and value.numpy().size == 1
    maker = makers.get(value)
    return maker is not None and bool(maker.inputs) and all(_is_number(v, makers) for v in maker.inputs)


def _guarded(op: Op) -> list[Op]:
    """A MatMul as Gemm where its operands are matrices, else with copies beside it."""
    if all(v is not None and v.type.rank == 2 for v in op.inputs):
        return [Op("Gemm", op.inputs, op.outputs, {}, op.place, op.remark)]
    copies = [Var(v.type, v.hint, v.sizes) if isinstance(v, Var) else v for v in op.inputs]
    before = [
        Op("Sum", (v,), (copy,), {}, op.place, op.remark)
        for v, copy in zip(op.inputs, copies, strict=True)
        if isinstance(copy, Var)
    ]
    product = Var(op.outputs[0].type)
    after = Op("Sum", (product,), op.outputs, {}, op.place, op.remark)
    return [*before, Op(op.kind, tuple(copies), (product,), op.attributes, op.place, op.remark), after]
