"""Substitutes for functions of SciPy, where it is loaded: SciPy is never imported here."""

import sys
from typing import Any

from primsplit.scipy import linalg, special, stats
from primsplit.substitutes.table import ModuleSubstitute, register, when_traced

MODULES = {"scipy.special": special, "scipy.linalg": linalg}
_done: set[str] = set()


def register_loaded() -> None:
    """Register the modules of SciPy that were loaded since the last time."""
    for name in ("scipy", *MODULES, "scipy.stats"):
        if name in sys.modules and name not in _done:
            _done.add(name)
            register(sys.modules[name], ModuleSubstitute(sys.modules[name]))
            _register(name)


def _register(name: str) -> None:
    if name == "scipy.stats":
        normal = sys.modules[name].norm
        own = {n: when_traced(getattr(normal, n), getattr(stats.norm, n)) for n in stats.METHODS}
        register(normal, ModuleSubstitute(normal, own))
    elif name in MODULES:
        for function in MODULES[name].__all__:
            original: Any = getattr(sys.modules[name], function)
            register(original, when_traced(original, getattr(MODULES[name], function)))
