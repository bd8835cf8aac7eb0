"""Runs SciPy's own code on traced arrays: a converted copy of it, with the functions of SciPy that it calls.

The copy calls substitutes where SciPy's functions are compiled. It asks SciPy for the array namespace of traced arrays,
which is `primsplit.numpy`; no element is read while it is traced, so that SciPy takes the way of lazy arrays.

    scipy.stats.zscore(x)       ->      copy of scipy.stats.zscore(x)       # x / np.std(x) is recorded by its lines
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

from primsplit import numpy as namespace
from primsplit.frontends.python.converter.calls import callee
from primsplit.frontends.python.converter.copies import Conversion, Options, current
from primsplit.frontends.python.converter.operators import OPERATORS
from primsplit.frontends.python.overrides.table import Substitute, register
from primsplit.tracing.asarray import holds_traced

Function = Callable[..., Any]


def own_code(original: Function) -> Function:
    """Return a function that runs a converted copy of one of SciPy's, written in Python."""

    @functools.wraps(original)
    def call(*args: Any, **options: Any) -> Any:
        _register_helpers()
        own: frozenset[Any] = frozenset({original})
        inner = Options(serves=True, packages=frozenset({"scipy"}), own=own)
        conversion = Conversion.inside(current(), OPERATORS, inner)
        with conversion.running():
            return callee(conversion, original, is_package=True)(*args, **options)

    return call


def _namespace(of_known: Function, *arrays: Any) -> Any:
    return namespace if any(map(holds_traced, arrays)) else of_known(*arrays)


def _yes(of_known: Function, array: Any) -> Any:
    return True if holds_traced(array) else of_known(array)


HELPERS: dict[str, dict[str, Function]] = {
    "scipy._lib._array_api": {"array_namespace": _namespace, "is_lazy_array": _yes},
    "scipy._lib.array_api_compat.common._helpers": {"is_writeable_array": _yes},
    "scipy._external.array_api_compat.common._helpers": {"is_writeable_array": _yes},
}
"""Functions of SciPy that ask for the kind of an array, and the answers for traced ones.

SciPy 1.18 keeps those of `array_api_compat` in `scipy._external`.
"""


@functools.cache
def _register_helpers() -> None:
    for module, answers in HELPERS.items():
        for name, answer in answers.items():
            original = getattr(sys.modules.get(module), name, None)
            if original is not None:
                register(original, Substitute(original, functools.partial(answer, original)))


OWN: dict[str, tuple[str, ...]] = {
    "scipy.integrate": ("cumulative_trapezoid", "romb", "trapezoid"),
    "scipy.linalg": ("eigvalsh", "eigvalsh_tridiagonal"),
    "scipy.ndimage": (
        "black_tophat", "gaussian_filter", "gaussian_gradient_magnitude", "gaussian_laplace", "laplace",
        "morphological_gradient", "morphological_laplace", "white_tophat",
    ),
    "scipy.optimize": ("rosen",),
    "scipy.signal": (
        "argrelextrema", "argrelmax", "argrelmin", "coherence", "correlate", "order_filter", "sosfreqz", "wiener",
    ),
    "scipy.spatial": ("minkowski_distance_p",),
    "scipy.stats": ("trimboth",),
}  # fmt: skip
"""The functions that are traced by SciPy's own code, by their modules."""
