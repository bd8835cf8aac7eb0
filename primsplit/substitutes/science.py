"""Substitutes for functions of SciPy, where it is loaded: SciPy is never imported here."""

import sys
from typing import Any

from primsplit.lifting import holds_traced
from primsplit.scipy import distance, integrate, linalg, ndimage, signal, special, stats
from primsplit.substitutes.interpolation import register_interpolation
from primsplit.substitutes.refused import register_refused
from primsplit.substitutes.sparse import register_sparse
from primsplit.substitutes.table import ModuleSubstitute, register, when_traced

MODULES = {
    "scipy.special": special, "scipy.linalg": linalg, "scipy.integrate": integrate, "scipy.spatial.distance": distance,
    "scipy.signal": signal, "scipy.ndimage": ndimage,
}  # fmt: skip
CLASSES = {"scipy.sparse": register_sparse, "scipy.interpolate": register_interpolation}
_done: set[str] = set()


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
    """Register the modules of SciPy that were loaded since the last time."""
    for name in ("scipy", *MODULES, *CLASSES, "scipy.stats", "scipy.spatial", "scipy.optimize"):
        if name in sys.modules and name not in _done:
            _done.add(name)
            register(sys.modules[name], ModuleSubstitute(sys.modules[name]))
            _register(name)


def _register(name: str) -> None:
    register_refused(name)
    if name in CLASSES:
        CLASSES[name](sys.modules[name])
    elif name == "scipy.stats":
        for distribution in stats.DISTRIBUTIONS:
            original: Any = getattr(sys.modules[name], distribution)
            register(original, _DistributionSubstitute(original, distribution))
    elif name in MODULES:
        for function in MODULES[name].__all__:
            original = getattr(sys.modules[name], function)
            register(original, when_traced(original, getattr(MODULES[name], function)))
