"""Apply the activations that `com.microsoft` operators name by an attribute."""

from collections.abc import Sequence
from typing import Any

from primsplit.ir.errors import UnsupportedFunction
from primsplit.ops import op
from primsplit.tracing.array import Array

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "Celu": ("alpha",),
    "Clip": ("min", "max"),
    "Elu": ("alpha",),
    "Gelu": (),
    "HardSigmoid": ("alpha", "beta"),
    "HardSwish": (),
    "LeakyRelu": ("alpha",),
    "Relu": (),
    "Selu": ("alpha", "gamma"),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": ("alpha",),
}
"""The parameters of each activation, in their order in a list.

No trait: the order is that of onnxruntime's fused operators.
"""


def activated(x: Array, name: str, given: Sequence[float | None]) -> Any:
    """Return the activation of this name of `x`; "" for none. `given` are its parameters, None for absent ones.

    Raises UnsupportedFunction for an activation that onnxruntime does not fuse.
    """
    if not name:
        return x
    if name == "QuickGelu":
        return op.Mul(x, op.Sigmoid(op.Mul(x, 1.702 if not given or given[0] is None else given[0])))
    if name not in _PARAMETERS:
        raise UnsupportedFunction(f"the fused activation {name} is not known")
    parameters = {k: v for k, v in zip(_PARAMETERS[name], given, strict=False) if v is not None}
    if name == "Clip":
        return op.Clip(x, parameters.get("min"), parameters.get("max"))
    return getattr(op, name)(x, **parameters)


def activated_by_name(x: Array, name: str, **given: float | None) -> Any:
    """Return an activation of `x` whose parameters have attributes of their own: `alpha`, `beta`, `gamma`."""
    return activated(x, name, [given.get(parameter) for parameter in _PARAMETERS.get(name, ())])
