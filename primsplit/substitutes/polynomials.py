"""NumPy's polynomials are written in Python: their modules are run with other names as the user's are.

Sizes never depend on coefficients: leading coefficients that are 0, which NumPy drops, stay where they are traced.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from primsplit.array import Array
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
                yield namespace, name, original, when_traced(original, _whole)


def _whole(coefficients: Any, *_: Any, **__: Any) -> Any:
    return coefficients


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
