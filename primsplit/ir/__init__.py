"""The program as data: typed Vars, Consts and Ops, and the Blocks that hold them.

Everything here is immutable once it is in a Block. A Var is known by identity, never by name: names are given when a
block is printed or saved. Blocks may share Vars; a block reads a Var that it does not define as a capture (`free`).

```
x, y = Var(Type("float32", [3])), Var(Type("float32", [3]))
Block("f", (x,), (Op("Exp", (x,), (y,)),), (y,))   # x -> exp(x)
```
"""

from primsplit.ir.blocks import (
    Attribute,
    Block,
    BodyRole,
    Comparison,
    Op,
    free,
    has_blocks,
    is_call,
    live_backwards,
    live_ops,
    operands,
    own_symbols,
    readers,
    reads,
    walk,
)
from primsplit.ir.checking import check
from primsplit.ir.renaming import NOWHERE, Renaming, inline, rename, rename_block, rename_reads, renamed
from primsplit.ir.types import BFLOAT16, FLOATS, Type, dtype_name, is_held, same_types
from primsplit.ir.values import (
    SMALL,
    AnyArray,
    Const,
    Converted,
    Data,
    Loaded,
    Role,
    Value,
    Var,
    converted,
    data_of,
    same_array,
    same_data,
    same_values,
)

__all__ = [
    "BFLOAT16",
    "FLOATS",
    "NOWHERE",
    "SMALL",
    "AnyArray",
    "Attribute",
    "Block",
    "BodyRole",
    "Comparison",
    "Const",
    "Converted",
    "Data",
    "Loaded",
    "Op",
    "Renaming",
    "Role",
    "Type",
    "Value",
    "Var",
    "check",
    "converted",
    "data_of",
    "dtype_name",
    "free",
    "has_blocks",
    "inline",
    "is_call",
    "is_held",
    "live_backwards",
    "live_ops",
    "operands",
    "own_symbols",
    "readers",
    "reads",
    "rename",
    "rename_block",
    "rename_reads",
    "renamed",
    "same_array",
    "same_data",
    "same_types",
    "same_values",
    "walk",
]
