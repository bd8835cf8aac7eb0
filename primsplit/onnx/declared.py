"""What a file declares of a value: its dtype by number, its sizes by name."""

import functools
from typing import Any

import numpy as np
import onnx_ir as oir

from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ParseError

NAMELESS = frozenset({"", "?", "*", "-1", "None", "unknown"})
"""What exporters write for a size that they know nothing of; two of them are not the same size."""


@functools.cache
def numpy_dtype(number: int) -> np.dtype[Any]:
    """The dtype of a file's data type. Raises ParseError for one that is unknown."""
    try:
        found: np.dtype[Any] = oir.DataType(number).numpy()
    except (ValueError, TypeError):
        raise ParseError(f"{number} is no data type of a tensor") from None
    return found


def named_size(text: str) -> Dim | None:
    """The size that a model calls so, an expression of sizes where it is written as one; None for one without a name.

    Equal names are equal sizes, whatever characters they are of.
    """
    if text in NAMELESS:
        return None
    size = dims.symbol(text) if len(text) > dims.LONG else dims.parse(text)
    size = dims.abbreviated(size)
    if isinstance(size, int) or not _is_sane(size):
        return None
    return size


def _is_sane(size: Dim) -> bool:
    """False for an expression that divides by zero."""
    try:
        dims.evaluate(size, dict.fromkeys(dims.symbols(size), 7))
    except ArithmeticError:
        return False
    return True
