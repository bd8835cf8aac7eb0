"""Inline calls of traced functions: replace a call by the function's own ops."""

import itertools
from collections.abc import Callable
from dataclasses import replace

from primsplit.ir import Block, Op, Renaming, is_call, own_symbols, rename, renamed
from primsplit.ir.dims import Dim
from primsplit.ops.inference import renewed
from primsplit.rewrites.rewriting import Rewriter
from primsplit.tracing.calls.flat_rules import Flat

_numbers = itertools.count()


def inline_calls(block: Block, keep: Callable[[Op], bool] = lambda _: False) -> Block:
    """The block with every call, also in sub-blocks and other calls, replaced by its body, but for those to keep."""
    return _Inliner(keep).run(block)


class _Inliner(Rewriter):
    """The walk. `symbols` are the sizes that inlined bodies define: a second copy of a body must not share them."""

    def __init__(self, keep: Callable[[Op], bool]) -> None:
        super().__init__()
        self.keep = keep
        self.symbols: set[str] = set()

    def concerns(self, block: Block) -> bool:
        return any(kind.startswith("call::") for kind in block.kinds)

    def visit(self, op: Op) -> Op | None:
        if not is_call(op) or self.keep(op):
            return op
        body: Block = op.attributes["body"]
        arguments = [v for v in op.inputs if v is not None]
        renaming: Renaming = dict(zip(body.params, arguments, strict=True))
        own = own_symbols(body)
        sizes: dict[str, Dim] = renewed(sorted(own & self.symbols))
        self.symbols |= own
        defined = {v for step in body.ops for v in step.outputs}
        for output, result in zip(op.outputs, body.results, strict=True):
            if result in defined and not sizes and (output.hint or not result.hint):
                renaming.setdefault(result, output)  # the caller's name for it stays
        call = _listed(op)
        for step in body.ops:
            inside = rename(step, renaming, remark=op.remark, place=op.place, sizes=sizes)
            found = self.visit(self.read(_of_call(inside, call) if call else inside))
            if found is not None:
                self.kept.append(found)
        for output, result in zip(op.outputs, body.results, strict=True):
            value = self.value(renamed(result, renaming))
            if value is not output:
                self.replaced[output] = value
        return None


def _listed(op: Op) -> str:
    """Return a new name for the call of a listed function: `cholesky 7`; "" for another op."""
    rule = op.attributes.get("rule")
    is_listed = isinstance(rule, Flat) and rule.primitive.is_listed
    return f"{op.kind.removeprefix('call::')} {next(_numbers)}" if is_listed else ""


def _of_call(op: Op, call: str) -> Op:
    """Return the op, and those inside of it, with the name of the call that they are a part of."""
    made = op.with_blocks(lambda block: replace(block, ops=tuple([_of_call(o, call) for o in block.ops])))
    if made.place is None or made.place.call:
        return made
    return replace(made, place=made.place._replace(call=call))
