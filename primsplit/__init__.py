"""primsplit: a NumPy function or an ONNX model in, one ONNX file with its forward and backward pass out."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from primsplit.ir.collector import lasting

if TYPE_CHECKING:
    from primsplit.frontends import random
    from primsplit.frontends.loops.nest import loops

# A third of what an import takes would be the collector's, which finds nothing.
with lasting():
    from primsplit import numpy, rules
    from primsplit.ir import errors
    from primsplit.ir.caching.counters import counts
    from primsplit.ir.errors import PrimsplitError
    from primsplit.numpy.complex.arithmetic import ALWAYS_COMPLEX
    from primsplit.numpy.complex.arithmetic import ELEMENTWISE as COMPLEX
    from primsplit.numpy.ufuncs import ELEMENTWISE
    from primsplit.onnx.definitions.quantized import chains as chains
    from primsplit.programs.api import SplitProgram, converted_source, split, trace
    from primsplit.programs.caching import cached
    from primsplit.programs.compiled import grad, value_and_grad, vmap
    from primsplit.programs.derivatives import (
        derivative,
        hessian,
        hvp,
        jacobian,
        jvp,
        laplacian,
        linearize,
        value_and_derivative,
        value_and_jacobian,
        value_grad_and_hessian,
        value_grad_and_hvp,
    )
    from primsplit.programs.elementwise_forward import forward
    from primsplit.programs.export import export
    from primsplit.programs.guarding import export_guarded, guarded
    from primsplit.programs.loading import load
    from primsplit.programs.program import Program
    from primsplit.programs.pulled import vjp
    from primsplit.tracing.array import FUNCTIONS, Array
    from primsplit.tracing.asarray import param
    from primsplit.tracing.calls.primitive import opt_out, stop_gradient
    from primsplit.tracing.calls.projection import project_to
    from primsplit.tracing.control import cond, fori_loop, safe_where, scan, switch, while_loop
    from primsplit.tracing.control import mapped as map  # noqa: A004  # the field's word for it
    from primsplit.tracing.hooks import HOOKS
    from primsplit.tracing.specs import spec
    from primsplit.tracing.states import state
    from primsplit.transforms.boundaries import primitive
    from primsplit.transforms.checkpoint import checkpoint
    from primsplit.transforms.tangents.frules import frule
    from primsplit.transforms.tangents.rrules import rrule

__version__ = "0.1.0"

sys.modules[f"{__name__}.errors"] = errors
"""The classes of errors and warnings, also for `from primsplit.errors import TraceError`."""

for _table in (FUNCTIONS, ELEMENTWISE, COMPLEX, ALWAYS_COMPLEX):
    _table.import_later("primsplit.special.families")
HOOKS.import_later("primsplit.transforms.parallel_scan", "parallel_scan")
HOOKS.import_later("primsplit.frontends.python.converter.running", "converted", "converted_source")
HOOKS.import_later("primsplit.frontends.python.overrides.vectorized", "apply_ufunc_of_objects")
HOOKS.import_later("primsplit.frontends.python.conversion.running", "join_branches", "show_truths")
HOOKS.import_later("primsplit.frontends.python.conversion.lazily", "may_exhaust")
HOOKS.import_later("primsplit.frontends.python.conversion.identity", "note_choice")
HOOKS.import_later("primsplit.frontends.python.live_arrays", "with_live_arrays")

__all__ = [
    "Array",
    "PrimsplitError",
    "Program",
    "SplitProgram",
    "cached",
    "checkpoint",
    "cond",
    "converted_source",
    "counts",
    "derivative",
    "errors",
    "export",
    "export_guarded",
    "fori_loop",
    "forward",
    "frule",
    "grad",
    "guarded",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "laplacian",
    "linearize",
    "load",
    "loops",
    "map",
    "numpy",
    "opt_out",
    "param",
    "primitive",
    "project_to",
    "random",
    "rrule",
    "rules",
    "safe_where",
    "scan",
    "spec",
    "split",
    "state",
    "stop_gradient",
    "switch",
    "trace",
    "value_and_derivative",
    "value_and_grad",
    "value_and_jacobian",
    "value_grad_and_hessian",
    "value_grad_and_hvp",
    "vjp",
    "vmap",
    "while_loop",
]


LATE = {"extend": "primsplit.extend", "random": "primsplit.frontends.random", "testing": "primsplit.testing"}
"""Public modules that are imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    """Load what is asked for: `testing` brings onnx's evaluator, `extend` all definitions, `loops` twenty modules."""
    if name in LATE:
        return importlib.import_module(LATE[name])
    if name == "loops":
        return importlib.import_module("primsplit.frontends.loops.nest").loops
    raise AttributeError(f"module 'primsplit' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, and no modules of the package: what an editor or a notebook offers."""
    return sorted([*__all__, "__version__", "extend", "testing"])
