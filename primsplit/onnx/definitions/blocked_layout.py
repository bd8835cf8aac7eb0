"""Refuse operators that onnxruntime lays out for the processor that it optimizes on, with the way out."""

from typing import Any

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.table import defines
from primsplit.tracing.array import Array

KINDS = (
    *("Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"),
    *("ReorderInput", "ReorderOutput", "Upsample"),
)
"""No trait: operators of another domain, some with the names of the standard's."""


def _refused(kind: str) -> None:
    def refuse(*inputs: Array | None, outputs: int = 1, **attributes: Any) -> Any:
        raise UnsupportedFunction(
            f"{kind} of com.microsoft.nchwc has a layout for one processor",
            place=tracing.current().place,
            cure="Save the optimized model at the level ORT_ENABLE_EXTENDED, or load the original.",
        )

    defines(f"com.microsoft.nchwc::{kind}")(refuse)


for _kind in KINDS:
    _refused(_kind)
