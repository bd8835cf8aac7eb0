"""Write primsplit/ops/namespace.pyi: one method for every operator of the standard, for type checkers and editors.

python -m tools.make_ops_stub [--check]
"""

import keyword
import sys
from pathlib import Path

from primsplit.ops.schema import Schema, kinds, schema

STUB = Path(__file__).parent.parent / "primsplit" / "ops" / "namespace.pyi"

HEAD = '''"""Made by `python -m tools.make_ops_stub`; do not edit."""

from collections.abc import Callable, Sequence
from typing import Any

from primsplit.ir import Type
from primsplit.ops.schema import Schema
from primsplit.tracing.array import Array

Operand = Any

class Operators:
    recorder: Callable[[Schema], Callable[..., Any]]
    def __getattr__(self, kind: str) -> Any: ...
'''


def method(found: Schema) -> str:
    """The signature of one operator."""
    inputs = []
    for position, (name, _) in enumerate(found.inputs):
        if found.variadic and position == len(found.inputs) - 1:
            inputs.append(f"*{_safe(name)}: Operand")
        else:
            default = "" if position < found.least_inputs else " = ..."
            inputs.append(f"{_safe(name)}: Operand{default}")
    star = [] if found.variadic else ["/", "*"] if inputs else ["*"]
    extra = [f"{_safe(a)}: Any = ..." for a in sorted(found.attributes)]
    options = ["outputs: int = ...", "types: Sequence[Type] | None = ..."]
    single = len(found.outputs) == 1 and not found.variadic_outputs
    many = found.variadic_outputs or found.kind == "TopK"
    result = "Array" if single else "tuple[Array, ...]" if many else "Any"
    arguments = ", ".join(["self", *inputs, *star, *extra, *options])
    return f"    def {found.kind}({arguments}) -> {result}: ...\n"


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in {"outputs", "types", "self"} else name


def text() -> str:
    """The whole stub."""
    return HEAD + "".join(method(schema(kind)) for kind in kinds()) + "\nop: Operators\nlater: Operators\n"


def main() -> int:
    """Write the stub, or with --check say whether it is up to date."""
    if "--check" in sys.argv:
        return 0 if STUB.read_text() == text() else 1
    STUB.write_text(text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
