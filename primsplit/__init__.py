"""primsplit: a NumPy function or an ONNX model in, one ONNX file with its forward and backward pass out."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from primsplit.ir import errors
from primsplit.ir.errors import PrimsplitError

if TYPE_CHECKING:
    from primsplit import numpy, rules
    from primsplit.frontends import random
    from primsplit.frontends.loops.nest import loops
    from primsplit.programs.public import (
        Array,
        Program,
        SplitProgram,
        cached,
        checkpoint,
        cond,
        converted_source,
        counts,
        derivative,
        export,
        export_guarded,
        fori_loop,
        forward,
        frule,
        grad,
        guarded,
        hessian,
        hvp,
        jacobian,
        jvp,
        laplacian,
        linearize,
        load,
        opt_out,
        param,
        primitive,
        project_to,
        rrule,
        safe_where,
        scan,
        spec,
        split,
        state,
        stop_gradient,
        switch,
        trace,
        value_and_derivative,
        value_and_grad,
        value_and_jacobian,
        value_grad_and_hessian,
        value_grad_and_hvp,
        vjp,
        vmap,
        while_loop,
    )
    from primsplit.programs.public import (
        map as map,  # noqa: A004  # the field's word for it
    )

__version__ = "0.1.0"

sys.modules[f"{__name__}.errors"] = errors
"""The classes of errors and warnings, also for `from primsplit.errors import TraceError`."""

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

LATE = {
    "extend": "primsplit.extend",
    "numpy": "primsplit.numpy",
    "random": "primsplit.frontends.random",
    "rules": "primsplit.rules",
    "testing": "primsplit.testing",
}
"""Public modules that are imported when they are first asked for."""


def __getattr__(name: str) -> Any:
    """Import what is asked for: all public functions together, a module or `loops` alone."""
    if name in LATE:
        found: Any = importlib.import_module(LATE[name])
    elif name == "loops":
        found = importlib.import_module("primsplit.frontends.loops.nest").loops
    elif name in __all__:
        public = importlib.import_module("primsplit.programs.public")
        globals().update((each, getattr(public, each)) for each in public.__all__)
        return globals()[name]
    else:
        raise AttributeError(f"module 'primsplit' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names, and no modules of the package: what an editor or a notebook offers."""
    return sorted([*__all__, "__version__", "extend", "testing"])
