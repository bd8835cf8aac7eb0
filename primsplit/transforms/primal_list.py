"""Build the primal list of a composition: the ops of a block, each as it is or replaced by the primal of its split."""

from primsplit.ir import Block, Op, Renaming, Value, Var, operands, reads, rename, renamed
from primsplit.ir.dims import Dim, Size, same, symbols
from primsplit.transforms.rule_run import is_parameter


class PrimalList:
    """Ops that compute what a block's ops compute, in their order.

    Outputs stay the same Vars if the list defines them; `value` maps the others to their values here.
    """

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.renaming: Renaming = {}

    def value(self, value: Value) -> Value:
        """Return the value here of a value of the block."""
        return renamed(value, self.renaming)

    def copy(self, op: Op) -> None:
        """Append the op, with its inputs renamed."""
        if any(v in self.renaming for v in reads(op)):
            self.renaming.update({v: v for v in op.outputs})
            op = rename(op, self.renaming)
        self.ops.append(op)

    def inline(self, op: Op, primal: Block) -> tuple[Renaming, dict[str, Dim]]:
        """Append the primal of the op's split; return the values here of its Vars, and of symbols of its own."""
        given = (v for v in operands(op) if v is not None and is_parameter(op, v))
        names: Renaming = {p: self.value(v) for p, v in zip(primal.params, given, strict=True)}
        defined = {v for inner in primal.ops for v in inner.outputs}
        pairs = list(zip(primal.results, op.outputs, strict=False))
        for result, output in pairs:
            if isinstance(result, Var) and result in defined:
                names.setdefault(result, output)
        sizes = _sizes(primal, pairs)
        self.ops.extend(rename(inner, names, place=op.place, remark=op.remark, sizes=sizes) for inner in primal.ops)
        for result, output in pairs:
            value = renamed(result, names)
            if value is not output:
                self.renaming[output] = value
        return names, sizes


def _sizes(primal: Block, pairs: list[tuple[Value, Var]]) -> dict[str, Dim]:
    """Map data-dependent sizes that the rule, run again, introduced to those of the op."""
    unlike = [(a.type.shape, b.type.shape) for a, b in pairs if a.type.key != b.type.key]
    if not unlike:
        return {}
    given = frozenset[str]().union(*(symbols(d) for p in primal.params for d in p.type.shape or ()))
    made: dict[str, Dim] = {}
    for own, outer in unlike:
        for a, b in zip(own or (), outer or (), strict=False):
            name = a.symbol if isinstance(a, Size) else None
            if name is not None and name not in given and not same(a, b):
                made.setdefault(name, b)
    return made
