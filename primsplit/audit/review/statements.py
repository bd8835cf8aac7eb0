"""Write single statements of a file for a comparison: `hidden = Tanh(add)`, without types, places and columns."""

from collections.abc import Iterator, Mapping

from primsplit.audit.file_listing import FilePrinter
from primsplit.audit.written import Written
from primsplit.ir import Block, Op, Var
from primsplit.ir.notation.literals import quoted
from primsplit.ir.plain_text import in_one_line


class StatementPrinter(FilePrinter):
    """Prints ops of a file on one line each; `names` are those of values that have another name than in the file."""

    def __init__(self, file: Written, names: Mapping[Var, str]) -> None:
        super().__init__(file)
        self.names |= {var: quoted(name) for var, name in names.items()}

    def head(self, op: Op, *, typed: bool = False) -> str:
        """Return the statement of an op, without its bodies."""
        attributes = {name: v for name, v in op.attributes.items() if not isinstance(v, Block)}
        items = [self.value(v, op) for v in op.inputs]
        items += [f"{name}={self.constants.attribute(name, v)}" for name, v in attributes.items()]
        targets = ", ".join(self.typed(v) if typed else self.names[v] for v in op.outputs)
        return in_one_line(f"{targets} = {op.kind.removeprefix('call::')}({', '.join(items)})")

    def statement(self, op: Op, depth: int = 0) -> Iterator[str]:
        """Yield the lines of an op with its bodies."""
        indent = "  " * depth
        yield indent + self.head(op)
        for name, inner in op.attributes.items():
            if isinstance(inner, Block):
                yield f"{indent}  {name}({', '.join(self.names[p] for p in inner.params)}):"
                for below in inner.ops:
                    yield from self.statement(below, depth + 2)
                yield f"{indent}    return {', '.join(self.value(r, None) for r in inner.results)}"
