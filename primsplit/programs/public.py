"""Every public function and class, imported together when the first of them is asked for.

`import primsplit` takes as long as NumPy; these modules take as long again and more. Modules that only some functions
need are named here and imported later still.
"""

import importlib

from primsplit.ir.caching.counters import counts
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
from primsplit.tracing.array import Array
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

# These register themselves.
for _room in ("numpy", "rules", "onnx.definitions.quantized.chains"):
    importlib.import_module(f"primsplit.{_room}")
HOOKS.import_later("primsplit.transforms.parallel_scan", "parallel_scan")
HOOKS.import_later("primsplit.frontends.python.converter.running", "converted", "converted_source")
HOOKS.import_later("primsplit.frontends.python.overrides.vectorized", "apply_ufunc_of_objects")
HOOKS.import_later("primsplit.frontends.python.conversion.running", "join_branches", "show_truths")
HOOKS.import_later("primsplit.frontends.python.conversion.expected", "expected_conditions")
HOOKS.import_later("primsplit.frontends.python.conversion.lazily", "may_exhaust")
HOOKS.import_later("primsplit.frontends.python.conversion.identity", "note_choice")
HOOKS.import_later("primsplit.frontends.python.live_arrays", "with_live_arrays")

__all__ = [
    "Array",
    "Program",
    "SplitProgram",
    "cached",
    "checkpoint",
    "cond",
    "converted_source",
    "counts",
    "derivative",
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
    "map",
    "opt_out",
    "param",
    "primitive",
    "project_to",
    "rrule",
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
