"""Substitutes for scipy.spatial.transform: rotations of traced numbers, and rotations applied to traced vectors."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from primsplit.frontends.python.overrides.table import ModuleSubstitute, register, register_method, when_traced
from primsplit.frontends.scipy.rotations import Turn, of
from primsplit.frontends.scipy.slerp import between, slerp

MAKERS = ("from_quat", "from_rotvec", "from_mrp", "from_euler", "from_matrix", "concatenate", "align_vectors")


class _RotationSubstitute(ModuleSubstitute):
    """The class, whose makers take traced numbers."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.original(*args, **options)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Turn | self.original)


def _of_known(method: str) -> Callable[..., Any]:
    """A method of a rotation that is known, of traced arguments."""

    def call(rotation: Any, *args: Any, **options: Any) -> Any:
        return getattr(of(rotation), method)(*args, **options)

    return call


def register_rotations(module: ModuleType) -> None:
    """Let traced numbers be rotations, and be turned by rotations."""
    original: Any = module.Rotation
    own = {name: when_traced(getattr(original, name), getattr(Turn, name)) for name in MAKERS}
    register(original, _RotationSubstitute(original, own))
    for method in ("apply", "__mul__", "__pow__"):
        register_method(original, method, _of_known(method))
    register(module.Slerp, when_traced(module.Slerp, slerp))
    register_method(module.Slerp, "__call__", between)
