"""NumPy's polynomials are written in Python: their modules are run with other names as the user's are.

Sizes never depend on coefficients: leading coefficients that are 0, which NumPy drops, stay where they are traced.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primsplit.array import FUNCTIONS, Array
from primsplit.lifting import holds_traced
from primsplit.substitutes.table import Substitute, register, substitute_of, when_traced

MODULES = (
    *(
        f"numpy.polynomial.{name}"
        for name in (
            "_polybase", "chebyshev", "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils"
        )
    ),
    "numpy.lib._polynomial_impl",
)  # fmt: skip
TRIMMING = {"trimseq", "trimcoef", "trim_zeros"}
"""Functions that drop coefficients."""
SHIFTING = {"polymulx", "chebmulx", "legmulx", "hermmulx", "hermemulx", "lagmulx"}
"""Products with x."""


def namespaces() -> Iterator[dict[str, Any]]:
    """The dictionaries of the modules that are loaded."""
    for name in MODULES:
        if name in sys.modules:
            yield vars(sys.modules[name])


def untrimmed() -> Iterator[tuple[dict[str, Any], str, Any, Any]]:
    """Where these modules hold a function that drops coefficients: the dictionary, the name, what it is and becomes."""
    for namespace in namespaces():
        for name in TRIMMING & namespace.keys():
            original: Callable[..., Any] = namespace[name]
            if not isinstance(original, Substitute):
                yield namespace, name, original, when_traced(original, _whole(original))
        if "mapdomain" in namespace and not isinstance(namespace["mapdomain"], Substitute):
            mapped = namespace["mapdomain"]
            yield namespace, "mapdomain", mapped, Substitute(mapped, _of_series(mapped))
        for name in SHIFTING & namespace.keys():
            original = namespace[name]
            if not isinstance(original, Substitute):
                yield namespace, name, original, when_traced(original, _shifted(original))


def _whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that drops coefficients only where all of them are known."""

    def call(coefficients: Any, *args: Any, **options: Any) -> Any:
        known = coefficients.known() if isinstance(coefficients, Array) else None
        return coefficients if known is None else original(known, *args, **options)

    return call


def _of_series(original: Callable[..., Any]) -> Callable[..., Any]:
    """The map of one interval to another, of a polynomial too, of which NumPy would make an array of objects."""

    def call(x: Any, old: Any, new: Any) -> Any:
        if not hasattr(x, "convert"):
            return original(x, old, new)
        offset, scale = np.polynomial.polyutils.mapparms(old, new)
        return offset + scale * x

    return call


def _shifted(original: Callable[..., Any]) -> Callable[..., Any]:
    """A product with x, which asks a single coefficient whether it is 0: that of two, of which the second is 0."""

    def call(c: Any) -> Any:
        return original(np.append(c, 0.0))[:-1] if np.size(c) == 1 else original(c)

    return call


def _of_polynomials(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of coefficients, given np.poly1d's of traced ones, of which NumPy would make arrays."""
    known = substitute_of(original).again

    def call(*args: Any, **options: Any) -> Any:
        if not any(isinstance(a, np.poly1d) and isinstance(a.coeffs, Array) for a in args):
            return known(*args, **options)
        found = known(*(a.coeffs if isinstance(a, np.poly1d) else a for a in args), **options)
        if original is np.polyval:
            return found
        return tuple(map(np.poly1d, found)) if isinstance(found, tuple) else np.poly1d(found)

    return call


for _function in (np.polyadd, np.polyder, np.polydiv, np.polyint, np.polymul, np.polysub, np.polyval):
    register(_function, Substitute(_function, _of_polynomials(_function)))


def _asked_directly(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that would go through a traced vector's elements to find who answers for it."""

    def call(given: Any) -> Any:
        return FUNCTIONS[original](given) if holds_traced(given) else original(given)

    return call


register(np.poly, Substitute(np.poly, _asked_directly(np.poly)))
register(np.roots, Substitute(np.roots, _asked_directly(np.roots)))
