"""Warn, at the user's line, where a program of float32 becomes one of float64 because it meets a float64 of NumPy's.

`x / np.sqrt(16)` does so for a float32 x: np.sqrt returns a float64, and everything computed from the quotient takes
twice the memory and time. So does `x / np.sum(mask)`, by integers, and a function that returns float64 for any numbers,
as np.interp. An explicit conversion, `x.astype(np.float64)`, gets no warning.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Block, Const, Op, Var, readers, walk
from primsplit.ir.errors import Place, PromotionWarning, warn_at

WIDE = np.dtype(np.float64)


def report_promotions(block: Block) -> Block:
    """Return the block. Warn once for each line of the user's that widens floats to float64.

    There is no warning if an input is float64 already.
    """
    floats = {p.type.dtype for p in block.params if p.type.is_float}
    if not floats or WIDE in floats:
        return block
    for place, narrow, const in _promotions(block):
        told = (
            f"{narrow} becomes float64 here, as in NumPy: {_what(const)} is in the expression. What is computed "
            f"from there on takes twice the memory and time. Write .astype(np.{narrow}) behind that, or float() around "
            "a number."
        )
        warn_at(place, told, PromotionWarning)
    return block


def _what(const: Const | None) -> str:
    if const is None:
        return "an array of integers, or a function that returns float64,"
    return f"an array, {const.type}, of NumPy's" if const.type.rank else "a number of NumPy's"


def _promotions(block: Block) -> Iterator[tuple[Place, np.dtype[Any], Const | None]]:
    """Yield each such line once, with the narrower dtype and the constant that it meets, None for what is no constant.

    Without a constant, what functions compute in float64 in the bodies of their loops does not count.
    """
    reported: set[Place] = set()
    for inner, outer in ((block, None), *((b, op) for op in walk(block) for b in op.blocks())):
        if not any(_widened(op) is not None for op in inner.ops):
            continue
        read = readers(inner.ops, inner.results)
        for place, ops in _by_place(inner.ops).items():
            narrow = next((v for v in map(_widened, ops) if v is not None), None)
            const = next((v for op in ops for v in op.inputs if isinstance(v, Const) and _is_of_numpy(v, op)), None)
            line = place.whole_line
            source = _COMMENT.sub(r"\1", line.source)
            if narrow is None or line in reported or _WIDENING.search(source):
                continue
            if const is None and not (_is_of_python(line) and (outer is None or _meets_integers(ops, outer))):
                continue
            around = _on_line(inner.ops, line) if _NARROWING.search(source) else ops
            if any(_leaves(v, {op.place for op in around}, read) for op in around for v in op.outputs):
                reported.add(line)
                yield line, narrow.type.dtype, const


def _meets_integers(ops: Sequence[Op], outer: Op) -> bool:
    """Whether the user's own expression in a body of an op takes integers that only the run knows for float64."""
    is_own = all(op.place != outer.place for op in ops)
    widened = (op.inputs[0] for op in ops if op.kind == "Cast" and op.outputs[0].type.dtype == WIDE)
    return is_own and any(isinstance(v, Var) and v.type.dtype.kind in "iu" for v in widened)


_COMMENT = re.compile(r"""^((?:[^#'"]|'[^']*'|"[^"]*")*)#.*""")
_NARROW = (
    r"""(?:(?:[\w.]+\.|['"])?(?:b?float(?:16|32)|single|half|u?int(?:8|16|32|64|p|c)?|bool_?|complex64|f[24]|[iu][1248])\b"""
    r"|[\w.]+\.dtype\b)"
)
"""Matches a dtype, as it is written, that is not float64, or that of an array of a program of float32."""
_WIDENING = re.compile(rf"\bastype\b(?!\(\s*(?:dtype\s*=\s*)?{_NARROW})|\bdtype\s*=(?!=|\s*{_NARROW})")
"""Matches a line that sets a dtype which may be float64: its author chose it."""
_NARROWING = re.compile(rf"\b(?:astype\(|dtype\s*=)\s*{_NARROW}|\bfloat(?:16|32)\(")
"""Matches a line that sets a narrower dtype: what it computes in float64 counts where that leaves the line."""


_NAMING = re.compile(r"\bfloat64\b|\bdouble\b|,\s*float\b|(?<![\w.])float\(")
"""Matches a line that names the dtype as a function or an argument; `float(x)` makes a number of Python's."""


def _is_of_python(line: Place) -> bool:
    """Whether it is a line of Python, and names no dtype: a node of a model is as its exporter wrote it."""
    return not line.filename.endswith(".onnx") and not _NAMING.search(line.source)


def _by_place(ops: Sequence[Op]) -> dict[Place, list[Op]]:
    """Group the ops by the user's expression that recorded them."""
    groups: dict[Place, list[Op]] = {}
    for op in ops:
        if op.place is not None and op.place.filename:
            groups.setdefault(op.place, []).append(op)
    return groups


def _widened(op: Op) -> Var | None:
    """Return the narrower float that an op casts to float64, or None."""
    source = op.inputs[0] if op.kind == "Cast" and op.outputs[0].type.dtype == WIDE else None
    is_narrow = isinstance(source, Var) and source.type.is_float and source.type.dtype != WIDE
    return source if is_narrow and isinstance(source, Var) else None


def _is_of_numpy(value: Const, op: Op) -> bool:
    """Whether the value is a NumPy constant of the user's that is float64, or integers that the op converts to it.

    Numbers of Python have no place, and take the dtype of the other operand.
    """
    if value.place is None or value.is_param:
        return False
    becomes = op.outputs[0].type.dtype if op.kind == "Cast" else value.type.dtype
    return becomes == WIDE and value.type.dtype.kind in "fiu"


def _on_line(ops: Sequence[Op], line: Place) -> list[Op]:
    """Return the ops of all expressions on a line."""
    return [op for op in ops if op.place is not None and op.place.whole_line == line]


def _leaves(value: Var, places: Collection[Place | None], read: Mapping[Var, list[Op | None]]) -> bool:
    """Whether an op outside of the expressions at these places reads this float64 value."""
    return value.type.dtype == WIDE and any(r is None or r.place not in places for r in read.get(value, ()))
