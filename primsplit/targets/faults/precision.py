"""Keep onnxruntime from fusing ops beside a float64 MatMul into it.

```
Mul(MatMul(a: [N,3,4], b), 0.3)   ->   Mul(Squeeze(Unsqueeze(MatMul(a, b))), 0.3)
Mul(MatMul(a: [3,4], b), 0.3)     ->   Mul(Gemm(a, b), 0.3)
```

onnxruntime 1.31.1 fuses a MatMul with a multiplication or division by a constant number, on its output or on an input
(through a Transpose too), into FusedMatMul, whose factor is a float32: float64 products lose nine digits, without an
error. A Dropout that keeps all, or an addition of 0, is dropped from between the two before that. Before 1.26 it also
fuses a Transpose into it, and then has no float64 kernel of it: the file does not load. Transposes are moved before
that, past most elementwise ops, to where two meet or to a product. A Gemm is not fused so; nor is a MatMul beside an
Unsqueeze and a Squeeze that undo each other, which copy nothing.
"""

from collections.abc import Collection, Sequence, Set
from dataclasses import replace
from functools import partial

import numpy as np

from primsplit.ir import Block, Const, Op, Value, Var, dims, is_call
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.rewrites.rewriting import made_again, reading_again
from primsplit.targets.faults.moved_transposes import Reached

SCALINGS = frozenset({"Mul", "Div"})
TERMS = frozenset({"Add", "Sub"})
STOPS = frozenset({"Einsum", "Gemm", "If", "Loop", "MatMul", "NonZero", "Range", "Scan", "Shape", "Size"})
"""Operators past which no Transpose is moved. No trait: what onnxruntime does with them."""


@fault(
    "factor_fused_into_float64_product",
    kind="wrong",
    operators=("MatMul", "Mul", "Div"),
    says="A constant factor beside a float64 MatMul is rounded to float32, also past a Transpose, an addition of 0 "
    "or a Dropout that keeps all.",
    before="1.32",
)
@fault(
    "transpose_fused_into_float64_product",
    kind="refuses",
    operators=("Transpose", "MatMul"),
    says="A Transpose is fused into a float64 product of stacks, for which there is no kernel: the file does not load.",
    before="1.26",
)
def keep_double_products(
    block: Block, runtime: Runtime = OLDEST, *, is_function: bool = False, folded: Set[Var] = frozenset()
) -> Block:
    """Write every float64 MatMul beside a constant factor or a Transpose so that it is not fused.

    A function's parameters may come from such a factor or Transpose, and its results go to one. `folded` are the Vars
    around the block that onnxruntime folds to constants.
    """
    folded = folded | _folded(block, folded)
    if not any(op.kind == "MatMul" and op.outputs[0].type.dtype == np.float64 for op in block.ops):
        return _inside(block, runtime, folded) if any(any(op.blocks()) for op in block.ops) else block
    makers = {v: op for op in block.ops for v in op.outputs}
    numbers = {v for v in folded if _may_be_one(v)}
    scaled = _scaled_results(block, numbers)
    fuses_transposes = runtime.has("transpose_fused_into_float64_product")
    outside = frozenset(block.params) if is_function else frozenset()
    turned = _turned(block, outside) if fuses_transposes else outside
    if is_function:
        scaled.update(v for v in block.results if isinstance(v, Var))
    ops: list[Op] = []
    for op in block.ops:
        if op.kind != "MatMul" or op.outputs[0].type.dtype != np.float64:
            ops.append(op)
            continue
        beside = [v for v in op.inputs if v in turned or _is_scaled(v, makers, numbers, outside)]
        with_result = op.outputs[0] in scaled
        ops.extend(_guarded(op, beside, with_result=with_result) if beside or with_result else [op])
    return _inside(Block(block.name, block.params, tuple(ops), block.results), runtime, folded)


def _inside(block: Block, runtime: Runtime, folded: Set[Var]) -> Block:
    """Return the block with the sub-blocks of its ops treated likewise."""
    treated = partial(keep_double_products, runtime=runtime, folded=folded)
    return replace(block, ops=tuple(op if is_call(op) else op.with_blocks(treated) for op in block.ops))


def _scaled_results(block: Block, numbers: Collection[Var]) -> set[Var]:
    """Return the Vars that are multiplied or divided by a constant number, past ops that are dropped between."""
    found: set[Var] = set()
    for op in reversed(block.ops):
        if op.kind in SCALINGS and any(_is_number(v, numbers) for v in op.inputs):
            found.update(v for v in op.inputs if isinstance(v, Var))
        elif op.outputs[0] in found and (term := _handed_on(op, numbers)) is not None:
            found.add(term)
    return found


def _is_scaled(value: Value | None, makers: dict[Var, Op], numbers: Collection[Var], outside: Collection[Var]) -> bool:
    """Whether the value is scaled by a constant number, or may be, apart from Transposes and ops that are dropped."""
    while isinstance(value, Var) and value in makers:
        op = makers[value]
        if op.kind in SCALINGS:
            return any(_is_number(v, numbers) for v in op.inputs)
        value = op.inputs[0] if op.kind == "Transpose" else _handed_on(op, numbers)
    return value in outside


def _handed_on(op: Op, numbers: Collection[Var]) -> Var | None:
    """Return the input that onnxruntime may read in the op's place: a Dropout's, or the term beside a constant 0."""
    if op.kind == "Dropout" and isinstance(op.inputs[0], Var):
        return op.inputs[0]
    if op.kind not in TERMS:
        return None
    zeros = [_is_number(v, numbers) and not (isinstance(v, Const) and v.numpy().any()) for v in op.inputs]
    return next((v for v, other in zip(op.inputs, zeros[::-1], strict=True) if other and isinstance(v, Var)), None)


def _folded(block: Block, around: Set[Var]) -> set[Var]:
    """Return the Vars that onnxruntime may fold to constants: those computed from constants alone, of any length."""
    found: set[Var] = set()
    for op in block.ops:
        if op.inputs and all(v is None or isinstance(v, Const) or v in found or v in around for v in op.inputs):
            found.update(op.outputs)
    return found


def _may_be_one(value: Value) -> bool:
    """Whether a value may have one element."""
    return value.type.shape is None or all(dims.could_be(d, 1) for d in value.type.shape)


def _is_number(value: Value | None, numbers: Collection[Var]) -> bool:
    """Whether it is a constant of one element, or is folded to one."""
    if isinstance(value, Const):
        return value.is_short and value.numpy().size == 1
    return value in numbers


def _turned(block: Block, outside: Collection[Var]) -> Reached:
    """Return the Vars to which a Transpose may be moved, or those from outside."""
    found = Reached(lambda op: op.kind == "Transpose", STOPS, outside)
    for op in block.ops:
        found.follow(op)
    return found


def _guarded(op: Op, beside: Sequence[Value | None], *, with_result: bool) -> list[Op]:
    """Return a MatMul of matrices as Gemm, others kept apart from some operands, and from the readers of the result."""
    if all(v is not None and v.type.rank == 2 for v in op.inputs):
        return [op.beside("Gemm", op.inputs, op.outputs)]
    *made, read_again = reading_again(op, beside)
    if not with_result:
        return [*made, read_again]
    product = Var(op.outputs[0].type)
    return [*made, replace(read_again, outputs=(product,)), *made_again(op, product, op.outputs[0])]
