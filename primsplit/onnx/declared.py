"""Read the declared types of a file: dtypes by number, sizes by name."""

import functools
from typing import Any

import numpy as np
import onnx_ir as oir

from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ParseError

NAMELESS = frozenset({"", "?", "*", "-1", "None", "unknown"})
"""Names that exporters write for an unknown size; two of them are not the same size."""


@functools.cache
def numpy_dtype(number: int) -> np.dtype[Any]:
    """Return the dtype of a file's data type. Raises ParseError for one that is unknown."""
    try:
        found: np.dtype[Any] = oir.DataType(number).numpy()
    except (ValueError, TypeError):
        raise ParseError(f"{number} is no data type of a tensor") from None
    return found


def named_size(text: str) -> Dim | None:
    """Return the size of this name in a model, an expression of sizes if it is written as one; None for no name.

    Equal names are equal sizes, whatever their characters.
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
