"""Inline a program that is called while another is recorded: its ops become part of that.

```
f(x) = program(x) + 1   with program(a) = Exp(a)   ->   f(x) = Add(Exp(x), 1)
```
"""

from collections.abc import Sequence

from primsplit import tracing
from primsplit.ir import Block
from primsplit.ir.dims import Shape
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.tracing.array import Array


def inline_block(block: Block, names: Sequence[str], arguments: Sequence[Array]) -> list[Array]:
    """Record the block's ops, called on these arrays; return its results.

    Raises DtypeError or ShapeError, with the name of the input, for an array that cannot fit.
    """
    values = [a.value for a in arguments]
    for name, var, value in zip(names, block.params, values, strict=True):
        told = f"{name} must be {var.type}, not {value.type}"
        if var.type.dtype != value.type.dtype:
            raise DtypeError(told, place=tracing.user_place())
        if not _may_fit(value.type.shape, var.type.shape):
            raise ShapeError(told, place=tracing.user_place())
    return [Array(v) for v in tracing.inline(block, values)]


def _may_fit(given: Shape | None, wanted: Shape | None) -> bool:
    """Return False if a known size differs from the wanted one."""
    if given is None or wanted is None:
        return True
    pairs = zip(given, wanted, strict=False)
    return len(given) == len(wanted) and not any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
