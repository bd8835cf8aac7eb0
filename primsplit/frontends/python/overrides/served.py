"""Lists the functions that have substitutes only in converted functions, by the names that users write."""

import cmath
import math
from collections.abc import Iterator

import numpy as np

from primsplit.frontends.python.converter.own_code import OWN
from primsplit.frontends.python.overrides import libraries
from primsplit.frontends.python.overrides.refused import REFUSED
from primsplit.frontends.python.overrides.table import is_function
from primsplit.frontends.scipy.overrides import interpolation, neighbours, rotations, scattered, sparse, splines
from primsplit.frontends.scipy.overrides.science import MODULES
from primsplit.frontends.scipy.overrides.solving import SOLVERS
from primsplit.frontends.scipy.stats import DISTRIBUTIONS
from primsplit.ir.families import import_families
from primsplit.tracing.array import FUNCTIONS

families = (*libraries.families, *import_families("primsplit.frontends.scipy", "adaptive", "optimize"))
POLYNOMIALS = ("chebyshev", "hermite", "hermite_e", "laguerre", "legendre")
LOADED = {
    "np": np,
    "np.fft": np.fft,
    "np.lib.stride_tricks": np.lib.stride_tricks,
    **{f"np.polynomial.{name}": getattr(np.polynomial, name) for name in POLYNOMIALS},
    "math": math,
    "cmath": cmath,
}
"""The modules whose functions are registered whether or not SciPy is loaded, by their usual names."""


def served_names() -> Iterator[str]:
    """Yield the functions and classes that accept traced values, including SciPy's if it is not loaded."""
    for prefix, module in LOADED.items():
        for name, value in vars(module).copy().items():
            if is_function(value) and not isinstance(value, np.ufunc) and value not in FUNCTIONS:
                yield f"{prefix}.{name}"
    for module_name, ours in MODULES.items():
        yield from (f"{module_name}.{name}" for own in ours for name in own.__all__)
        yield from (f"{module_name}.{name}" for name in OWN.get(module_name, ()))
    for module_name, solvers in SOLVERS.items():
        yield from (f"{module_name}.{name}" for name in solvers)
    for distribution, own in DISTRIBUTIONS.items():
        yield from (f"scipy.stats.{distribution}.{method}" for method in own.methods)
    yield "scipy.stats.gaussian_kde"
    yield from (f"scipy.spatial.transform.Rotation.{name}" for name in rotations.MAKERS)
    yield from (f"scipy.spatial.{name}" for name in neighbours.TREES)
    owners = {owner for owner, _, _ in interpolation.METHODS} | interpolation.MAKERS.keys()
    owners |= splines.MAKERS.keys() | scattered.FUNCTIONS.keys()
    yield from (f"scipy.interpolate.{name}" for name in owners)
    yield from (f"scipy.sparse.{name}" for name in (*sparse.CLASSES, *sparse.FUNCTIONS, *sparse.JOINED))


def refused_names() -> Iterator[str]:
    """Yield the functions of SciPy that raise an error for traced values."""
    for module, kinds in REFUSED.items():
        yield from (f"{module}.{name}" for names in kinds.values() for name in names)
