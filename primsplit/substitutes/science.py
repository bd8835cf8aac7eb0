"""Substitutes for functions of SciPy, where it is loaded: SciPy is never imported here."""

import sys
from typing import Any

from primsplit.lifting import holds_traced
from primsplit.scipy import linalg, special, stats
from primsplit.substitutes.table import ModuleSubstitute, register, when_traced

MODULES = {"scipy.special": special, "scipy.linalg": linalg}
_done: set[str] = set()


class _NormalSubstitute(ModuleSubstitute):
    """scipy.stats.norm, which may be called too: `norm(loc, scale)` has the same functions of one argument."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        traced = stats.FrozenNormal(*args, **options)
        if holds_traced((*args, *options.values())):
            return traced
        return _FrozenSubstitute(self.original(*args, **options), traced)


class _FrozenSubstitute:
    """A distribution with known parameters, whose functions may be given traced arrays."""

    def __init__(self, original: Any, traced: stats.FrozenNormal) -> None:
        self.original = original
        self.traced = traced

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.original, name)
        return when_traced(found, getattr(self.traced, name)) if name in stats.METHODS else found


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
        register(normal, _NormalSubstitute(normal, own))
    elif name in MODULES:
        for function in MODULES[name].__all__:
            original: Any = getattr(sys.modules[name], function)
            register(original, when_traced(original, getattr(MODULES[name], function)))
