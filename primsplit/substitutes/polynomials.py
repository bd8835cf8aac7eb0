"""NumPy's polynomials are written in Python: their modules are run with other names as the user's are.

Sizes never depend on coefficients: leading coefficients that are 0, which NumPy drops, stay where they are traced.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from primsplit.substitutes.table import Substitute, when_traced

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
