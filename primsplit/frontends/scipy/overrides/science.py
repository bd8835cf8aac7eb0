"""Substitutes for functions of SciPy, if SciPy is loaded: it is never imported here."""

import functools
import importlib
import sys
import threading
from types import ModuleType
from typing import Any

from primsplit.frontends.python.converter import own_code
from primsplit.frontends.python.overrides.refused import register_refused
from primsplit.frontends.python.overrides.table import ModuleSubstitute, register, register_method, when_traced
from primsplit.frontends.scipy import (
    binary_morphology,
    blas,
    designs,
    distance,
    factorizations,
    fft,
    fftpack,
    filters,
    fourier_filters,
    integrate,
    labelled,
    linalg,
    linear_filter,
    linear_systems,
    matrix_equations,
    matrix_functions,
    morphology,
    ndimage,
    noise,
    peaks,
    periodograms,
    poles,
    ranks,
    rates,
    resampling,
    responses,
    rosenbrock,
    signal,
    sparse_factors,
    sparse_spectra,
    sparse_systems,
    spatial,
    special,
    spectra,
    stats,
    waveforms,
    whole_signals,
)
from primsplit.frontends.scipy.complex_images import by_parts
from primsplit.frontends.scipy.finite_data import with_finite_data
from primsplit.frontends.scipy.outputs import with_output
from primsplit.frontends.scipy.overrides.interpolation import register_interpolation
from primsplit.frontends.scipy.overrides.neighbours import register_neighbours
from primsplit.frontends.scipy.overrides.rotations import register_rotations
from primsplit.frontends.scipy.overrides.scattered import register_scattered
from primsplit.frontends.scipy.overrides.solving import SOLVERS, solving
from primsplit.frontends.scipy.overrides.sparse import register_sparse
from primsplit.frontends.scipy.overrides.splines import register_splines
from primsplit.frontends.scipy.stats import (
    circular,
    descriptive,
    distances,
    hypotheses,
    kernels,
    ordinal,
    scores,
    trimmed,
)
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import holds_traced

MODULES: dict[str, tuple[ModuleType, ...]] = {
    "scipy.special": (special,),
    "scipy.linalg": (linalg, factorizations, matrix_equations, matrix_functions),
    "scipy.linalg.blas": (blas,),
    "scipy.integrate": (integrate,),
    "scipy.spatial.distance": (distance,),
    "scipy.signal": (
        signal,
        filters,
        linear_filter,
        spectra,
        whole_signals,
        rates,
        waveforms,
        responses,
        linear_systems,
        noise,
        peaks,
        poles,
        periodograms,
        designs,
    ),
    "scipy.ndimage": (ndimage, fourier_filters, ranks, resampling, morphology, binary_morphology, labelled),
    "scipy.spatial": (spatial,),
    "scipy.optimize": (rosenbrock,),
    "scipy.fft": (fft,),
    "scipy.fftpack": (fftpack,),
    "scipy.sparse.linalg": (sparse_systems, sparse_factors, sparse_spectra),
    "scipy.stats": (descriptive, scores, trimmed, ordinal, distances, circular, hypotheses),
}
"""The modules with substitutes for the functions of a SciPy module, by the names in `__all__`."""
ALIASES: dict[str, dict[str, Any]] = {"scipy.ndimage": {"sum": labelled.sum_labels}}
"""Older names of functions that are Python's own, too."""
KNOWN = {"scipy.sparse.linalg": sparse_factors.KNOWN}
"""Functions that adapt the results of SciPy's functions for known arguments."""
CLASSES = {
    "scipy.spatial": (register_neighbours,),
    "scipy.sparse": (register_sparse,),
    "scipy.interpolate": (register_interpolation, register_splines, register_scattered),
    "scipy.spatial.transform": (register_rotations,),
}
_done: set[str] = set()
_turn = threading.RLock()


class _DistributionSubstitute(ModuleSubstitute):
    """A distribution of scipy.stats, which may be called too: `norm(loc, scale)` has the functions of one argument."""

    def __init__(self, original: Any, name: str) -> None:
        own = stats.DISTRIBUTIONS[name]
        super().__init__(original, {n: when_traced(getattr(original, n), getattr(own, n)) for n in own.methods})
        self.name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        traced = stats.Frozen(self.name, *args, **options)
        if holds_traced((*args, *options.values())):
            return traced
        return _FrozenSubstitute(self.original(*args, **options), traced)


class _FrozenSubstitute:
    """A distribution with known parameters, whose functions may be given traced arrays."""

    def __init__(self, original: Any, traced: stats.Frozen) -> None:
        self.original = original
        self.traced = traced

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.original, name)
        is_known = name in stats.DISTRIBUTIONS[self.traced.name].methods
        return when_traced(found, getattr(self.traced, name)) if is_known else found


def register_loaded() -> None:
    """Register the modules of SciPy that were loaded since the last time.

    A thread waits for those that another thread loads or registers.
    """
    for name in ("scipy", *MODULES, *CLASSES):
        if sys.modules.get(name) is not None and name not in _done:
            module = importlib.import_module(name)
            with _turn:
                if name not in _done:
                    register(module, ModuleSubstitute(module))
                    _register(name)
                    _done.add(name)


def _register(name: str) -> None:
    """Register what stands in for a module's functions, as far as this SciPy has them."""
    register_refused(name)
    module = sys.modules[name]
    for function, traced in SOLVERS.get(name, {}).items():
        given: Any = getattr(module, function, None)
        if given is not None:
            register(given, solving(given, traced))
    for register_classes in CLASSES.get(name, ()):
        register_classes(module)
    if name == "scipy.stats":
        for distribution in stats.DISTRIBUTIONS:
            original: Any = getattr(module, distribution, None)
            if original is not None:
                register(original, _DistributionSubstitute(original, distribution))
        _register_frozen(module)
        _register_kernels(module)
    if name == "scipy.sparse.linalg":
        register_method(module.SuperLU, "solve", sparse_factors.solve_by_factors)
    for function, traced in functions_of(name).items():
        original = getattr(module, function, None)
        if original is not None:
            stands_in = by_parts(original, with_output(original, traced)) if name == "scipy.ndimage" else traced
            stands_in = with_finite_data(original, stands_in) if name == "scipy.linalg" else stands_in
            register(original, when_traced(original, stands_in, KNOWN.get(name, {}).get(function)))


def functions_of(name: str) -> dict[str, Any]:
    """The substitutes for the functions of a SciPy module, by their names there: formulas, and SciPy's own code."""
    formulas = {function: getattr(module, function) for module in MODULES.get(name, ()) for function in module.__all__}
    found = {
        n: own_code.own_code(f)
        for n in own_code.OWN.get(name, ())
        if (f := getattr(sys.modules.get(name), n, None)) is not None
    }
    return formulas | ALIASES.get(name, {}) | found


def _register_frozen(module: Any) -> None:
    """Let the methods of distributions that were frozen outside of the function take traced arrays."""
    for sample in (module.norm(), module.poisson(1.0)):
        for method in FROZEN:
            if hasattr(type(sample), method):
                register_method(type(sample), method, functools.partial(_of_frozen, method))
    for name, attributes in stats.FROZEN_PARAMETERS.items():
        owner = getattr(sys.modules["scipy.stats._multivariate"], f"{name}_frozen")
        for method in set(stats.DISTRIBUTIONS[name].methods) & {"pdf", "logpdf", "pmf", "logpmf"}:
            register_method(owner, method, functools.partial(_of_frozen_vectors, name, attributes, method))


def _of_frozen_vectors(name: str, attributes: tuple[str, ...], method: str, frozen: Any, x: Any) -> Any:
    """A method of a frozen distribution of vectors or matrices, at traced numbers."""
    return getattr(stats.Frozen(name, *(getattr(frozen, a) for a in attributes)), method)(x)


def _register_kernels(module: Any) -> None:
    """Register gaussian_kde for traced data and at traced points."""
    original = module.gaussian_kde
    register(original, when_traced(original, kernels.Kernels))
    for method in ("evaluate", "__call__", "logpdf", "integrate_box_1d"):
        register_method(original, method, functools.partial(_of_kernels, method))


def _of_kernels(method: str, density: Any, *args: Any, **options: Any) -> Any:
    return getattr(kernels.of_known(density), method)(*args, **options)


FROZEN = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
"""The methods of a frozen distribution that have a form for traced arrays."""


def _of_frozen(method: str, frozen: Any, x: Any) -> Any:
    """A method of a frozen distribution at traced numbers. Raises UnsupportedFunction where there is none."""
    name = frozen.dist.name
    if name not in stats.DISTRIBUTIONS:
        raise unsupported(f"scipy.stats.{name}.{method}")
    return getattr(stats.Frozen(name, *frozen.args, **frozen.kwds), method)(x)
