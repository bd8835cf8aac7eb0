"""Inline calls of traced functions: replace a call by the function's own ops."""

from collections.abc import Callable

from primsplit.ir import Block, Op, Renaming, is_call, own_symbols, rename, renamed
from primsplit.ir.dims import Dim
from primsplit.ops.inference import renewed
from primsplit.rewrites.rewriting import Rewriter


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
        for step in body.ops:
            found = self.visit(self.read(rename(step, renaming, remark=op.remark, place=op.place, sizes=sizes)))
            if found is not None:
                self.kept.append(found)
        for output, result in zip(op.outputs, body.results, strict=True):
            value = self.value(renamed(result, renaming))
            if value is not output:
                self.replaced[output] = value
        return None
