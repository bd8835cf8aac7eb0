"""Compositions that stand for operators onnxruntime has no kernel for, one family a file."""

from collections.abc import Callable
from typing import Any

from primsplit.passes.compositions import (
    activations,
    error_function,
    hyperbolic,
    integers,
    normalization,
    selection,
    trigonometric,
)

COMPOSITIONS: dict[str, Callable[..., Any]] = {
    kind: function
    for family in (integers, activations, error_function, hyperbolic, normalization, selection, trigonometric)
    for kind, function in family.COMPOSITIONS.items()
}
CORRECTED: dict[str, Callable[..., Any]] = integers.CORRECTED
