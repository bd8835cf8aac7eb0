"""primsplit: a NumPy function or an ONNX model in, one ONNX file with its forward and backward pass out."""

import importlib
from typing import Any

from primsplit import random, rules
from primsplit.array import Array
from primsplit.compiled import grad, value_and_grad, vjp
from primsplit.errors import PrimsplitError
from primsplit.export import SplitProgram, export, split, trace
from primsplit.loading import load
from primsplit.numpy.namespace import NAMESPACE
from primsplit.primitive import opt_out, primitive, rrule, stop_gradient
from primsplit.program import Program
from primsplit.specs import spec

__version__ = "0.1.0"

numpy = NAMESPACE
"""NumPy for traced functions: `from primsplit import numpy as np`."""

__all__ = [
    "Array",
    "PrimsplitError",
    "Program",
    "SplitProgram",
    "export",
    "grad",
    "load",
    "numpy",
    "opt_out",
    "primitive",
    "random",
    "rrule",
    "rules",
    "spec",
    "split",
    "stop_gradient",
    "trace",
    "value_and_grad",
    "vjp",
]


def __getattr__(name: str) -> Any:
    """`testing` is loaded when it is asked for: it brings onnx's evaluator and onnxruntime."""
    if name == "testing":
        return importlib.import_module("primsplit.testing")
    raise AttributeError(f"module 'primsplit' has no attribute {name!r}")
