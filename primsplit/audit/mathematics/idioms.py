"""Recognize statements that a rewrite put in the place of one, and write the one again.

```
if N < 16384: y = sum(x)                             ->   y = sum(x)     in stages
else: y = <sums of parts of x, added up>

if T == 0: h = start                                 ->   for t in range(T): h = tanh(w * h + xs[t])
else: for t in range(T): h = tanh(w * h + xs[t])

if N * M == 0: y = sum(a, axis=1) + sum(b, axis=0)   ->   y = a @ b
else: y = a @ b
```

What is claimed is compared with what the nodes do: a side that does more to its numbers than to cut them into pieces
and to add these up is not taken for a sum.
"""

from collections.abc import Iterator, Mapping, Sequence

from primsplit.audit.mathematics.checks import with_checks
from primsplit.audit.mathematics.dense import with_dense
from primsplit.audit.mathematics.patches import with_patches
from primsplit.audit.mathematics.sameness import same_blocks, same_values
from primsplit.audit.mathematics.shortcuts import PIECES, SUMS, as_first_side, scatter_in_parts, with_masks
from primsplit.audit.mathematics.sizes import Sizes
from primsplit.audit.mathematics.special import with_special
from primsplit.audit.mathematics.window_grads import is_zeros, with_window_grads
from primsplit.audit.mathematics.window_pullbacks import with_window_pullbacks
from primsplit.audit.statements import Branch, Statement, Suite
from primsplit.ir import Block, Const, Op, Value, Var, dims


def recognized(statements: Sequence[Statement], sizes: Sizes) -> list[Statement]:
    """Return the statements, with sums in the place of branches that add up in stages, and the like."""
    if not sizes.is_folded:
        return [*statements]
    found = [
        sum_in_stages(s, sizes) or _scatter(s, sizes) or s for s in with_dense(with_checks(statements, sizes), sizes)
    ]
    return with_masks(
        with_special(with_window_pullbacks(with_window_grads(with_patches(found, sizes), sizes), sizes), sizes),
        sizes,
    )


def _scatter(statement: Statement, sizes: Sizes) -> Statement | None:
    is_choice = isinstance(statement, Branch) and is_by_size(statement, sizes)
    return scatter_in_parts(statement) if is_choice else None


def shown_suites(statement: Statement, sizes: Sizes) -> Iterator[tuple[Suite, list[Statement]]]:
    """Yield the bodies of a statement that are shown, with their statements."""
    side = chosen(statement, sizes) if isinstance(statement, Branch) else None
    for suite in statement.suites() if side is None else (side,):
        yield suite, recognized(suite.statements, sizes)


def sum_in_stages(statement: Statement, sizes: Sizes) -> Statement | None:
    """Return the sum of a branch that adds few numbers at once, and many in pieces."""
    if not isinstance(statement, Branch) or not is_by_size(statement, sizes):
        return None
    then, otherwise = (statement.op.attributes[key] for key in ("then_branch", "else_branch"))
    if len(then.ops) != 1 or len(then.results) != 1 or then.ops[0].kind not in SUMS:
        return None
    (plain,) = then.ops
    if plain.outputs[0] is not then.results[0] or not _adds_up(otherwise, plain):
        return None
    return as_first_side(statement, tuple(statement.every_op()), "summed in stages")


def _is_sum(statement: Branch, sizes: Sizes) -> bool:
    """Whether one side adds up products, and the other one has the zeros that these are where there are no elements."""
    then, otherwise = (statement.op.attributes[key] for key in ("then_branch", "else_branch"))
    count = sizes.empty.get(statement.op.inputs[0])
    made = {v: op for op in otherwise.ops for v in op.outputs}
    found = made.get(otherwise.results[0]) if len(otherwise.results) == 1 else None
    if count is None or found is None or found.kind not in {"Conv", "MatMul"} or not is_zeros(then.results, then.ops):
        return False
    shapes = [None if v is None else sizes.shape(v) for v in found.inputs[:2]]
    return any(shape is not None and dims.same(dims.product(shape), count) for shape in shapes)


def _is_product(statement: Branch, sizes: Sizes) -> bool:
    """Whether one side is a product of matrices, and the other one its zeros, by sums, where there are no elements."""
    then, otherwise = (statement.op.attributes[key] for key in ("then_branch", "else_branch"))
    inside, outside = ({v: op for op in block.ops for v in op.outputs} for block in (then, otherwise))
    added, product = inside.get(then.results[0]), outside.get(otherwise.results[0])
    if len(then.results) != 1 or added is None or added.kind != "Add" or product is None or product.kind != "MatMul":
        return False
    shapes = [None if v is None else sizes.shape(v) for v in product.inputs]
    count = sizes.empty.get(statement.op.inputs[0])
    if count is None or shapes[0] is None or shapes[1] is None:
        return False
    for value, operand, axis in zip(added.inputs, product.inputs, (-1, -2), strict=True):
        found, shape = _plain_sum(value, inside), () if operand is None else operand.type.shape or ()
        axes = None if found is None or len(found.inputs) < 2 else sizes.of(found.inputs[1])
        if found is None or axes not in {(axis,), (axis + len(shape),)} or not found.attributes.get("keepdims", 1):
            return False
        if not same_values(found.inputs[0], then, _without_axis(operand, outside, sizes), otherwise):
            return False
    elements = dims.product((dims.product(shapes[0]), dims.product(shapes[1])))
    return dims.exact_quotient(elements, count) is not None


def _without_axis(value: Value | None, made: Mapping[Var, Op], sizes: Sizes) -> Value | None:
    """Return the value that gets an axis and loses it again."""
    outer = made.get(value) if isinstance(value, Var) else None
    inner = made.get(outer.inputs[0]) if outer is not None and isinstance(outer.inputs[0], Var) else None
    if outer is None or inner is None or (inner.kind, outer.kind) != ("Unsqueeze", "Squeeze"):
        return value
    axes = [sizes.of(op.inputs[1]) for op in (inner, outer) if len(op.inputs) > 1]
    return inner.inputs[0] if len(axes) == 2 and axes[0] is not None and axes[0] == axes[1] else value


def _plain_sum(value: Value | None, made: Mapping[Var, Op]) -> Op | None:
    """Return the sum that a value is, perhaps added up in stages."""
    op = made.get(value) if isinstance(value, Var) else None
    if op is not None and op.kind == "If":
        then, otherwise = (op.attributes[key] for key in ("then_branch", "else_branch"))
        is_sum = len(then.ops) == 1 and then.ops[0].kind == "ReduceSum" and then.ops[0].outputs[0] is then.results[0]
        return then.ops[0] if is_sum and _adds_up(otherwise, then.ops[0]) else None
    return op if op is not None and op.kind == "ReduceSum" else None


def is_by_size(statement: Branch, sizes: Sizes) -> bool:
    """Whether the test reads nothing but sizes, so that a choice may be told in a word."""
    return sizes.is_folded and statement.op.inputs[0] in sizes.tests


def _adds_up(block: Block, plain: Op) -> bool:
    """Whether a block only cuts the numbers that a sum adds into pieces, and adds them up."""
    added: list[Op] = []
    return _is_in_pieces(block, {plain.inputs[0]}, added) and bool(added)


def _is_in_pieces(block: Block, numbers: set[Value | None], added: list[Op]) -> bool:
    """Whether a block computes its results from `numbers` so; those that it computes join them, and sums `added`."""
    for op in block.ops:
        if op.kind == "If":
            if not all(_is_in_pieces(inner, numbers, added) for inner in op.blocks()):
                return False
            numbers.update(op.outputs)
        elif op.blocks():
            return False
        elif op.kind != "Shape" and any(v in numbers for v in op.inputs):
            if op.kind not in PIECES and op.kind not in SUMS:
                return False
            added += [op] if op.kind in SUMS else []
            numbers.update(op.outputs)
    return all(result in numbers for result in block.results)


def chosen(statement: Branch, sizes: Sizes) -> Suite | None:
    """Return the side of a choice by sizes that says what both sides compute; None for another branch."""
    if not is_by_size(statement, sizes):
        return None
    is_loop = _is_for_no_steps(statement.op) or _is_race(statement)
    return statement.sides[1] if is_loop or _is_product(statement, sizes) or _is_sum(statement, sizes) else None


def note_of(statement: Branch, hidden: int) -> str:
    """Return what a listing says of the side of a choice by sizes that it does not show."""
    if not _is_race(statement):
        return ""
    return f"many steps are solved for at once: {hidden} nodes (--all)"


def _is_for_no_steps(choice: Op) -> bool:
    """Whether one side is a loop, and the other one hands on its first values, and no steps."""
    then, otherwise = (choice.attributes[key] for key in ("then_branch", "else_branch"))
    loops = [op for op in otherwise.ops if op.kind in {"Scan", "Loop"}]
    if len(loops) != 1 or any(op.kind not in {"Scan", "Loop", "Shape", "Squeeze", "Identity"} for op in otherwise.ops):
        return False
    (loop,) = loops
    if [*loop.outputs] != [*otherwise.results] or len(then.results) != len(loop.outputs):
        return False
    first = loop.inputs[2:] if loop.kind == "Loop" else loop.inputs
    carried = len(loop.outputs) - _stacked(loop)
    copies = {op.outputs[0]: op.inputs[0] for op in then.ops if op.kind == "Identity"}
    for i, result in enumerate(then.results):
        if i < carried and not _is_same(copies.get(result, result), first[i]):
            return False
        if i >= carried and not any(dims.same(size, 0) for size in result.type.shape or ()):
            return False
    return True


def _stacked(loop: Op) -> int:
    """Return the number of results that have a part of each step."""
    body = loop.attributes["body"]
    if loop.kind == "Loop":
        return len(body.results) - 1 - (len(loop.inputs) - 2)
    return len(body.results) - (len(loop.inputs) - int(loop.attributes["num_scan_inputs"]))


def _is_same(a: Value | None, b: Value | None) -> bool:
    return a is b or (isinstance(a, Const) and isinstance(b, Const) and a.key == b.key)


def _is_race(statement: Branch) -> bool:
    """Whether one side is a loop, and the other one solves for all steps at once, or falls back on the loop."""
    then, otherwise = (statement.op.attributes[key] for key in ("then_branch", "else_branch"))
    if not any(_has_loop(op) for op in otherwise.ops):
        return False
    choices = [op for op in then.ops if op.kind == "If" and [*op.outputs] == [*then.results]]
    stepped = _with_steps(otherwise)
    return any(same_blocks(_with_steps(op.attributes["else_branch"]), stepped) for op in choices)


def _with_steps(block: Block) -> Block:
    """Return a block that ends with the choice of a loop or no steps with the loop in its place.

    Where a test has found that there are steps, the loop stands alone.
    """
    last = block.ops[-1] if block.ops else None
    if last is None or last.kind != "If" or [*last.outputs] != [*block.results] or not _is_for_no_steps(last):
        return block
    inner = last.attributes["else_branch"]
    return Block(block.name, block.params, (*block.ops[:-1], *inner.ops), inner.results)


def _has_loop(op: Op) -> bool:
    return op.kind in {"Loop", "Scan"} or any(_has_loop(inner) for block in op.blocks() for inner in block.ops)
