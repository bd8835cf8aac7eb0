"""Look up operators of any domain as functions of arrays."""

from collections.abc import Callable
from typing import Any

from primsplit.ir.errors import RuleError
from primsplit.onnx.definitions.families import defined_names, definition_of, record_call
from primsplit.ops import op
from primsplit.ops.schema import exists, near_names
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.places import user_place


def operator(*name: str) -> Callable[..., Any]:
    """Return the function that records an operator: `"Gelu"`, `"com.microsoft", "BiasGelu"`, or one from `defines`.

    It takes the inputs by position, arrays or numbers, None for an absent one, and the attributes by keyword; with
    `outputs=2`, say, it returns a tuple. An operator of another domain than the standard's is a call with its
    definition inside. Raises RuleError for an unknown name.

    >>> gelu = extend.operator("com.microsoft", "BiasGelu")
    >>> ps.trace(gelu, ps.spec("float32", ["N", 3]), ps.spec("float32", [3]))(np.zeros((1, 3), "f4"), np.zeros(3, "f4"))
    array([[0., 0., 0.]], dtype=float32)
    """
    kind = "::".join(name)
    if "::" not in kind and exists(kind):
        standard: Callable[..., Any] = getattr(op, kind)
        return standard
    if definition_of(kind) is None:
        raise RuleError(
            f"{kind} is an operator neither of the standard nor of a definition",
            place=user_place(),
            cure=near_names(kind, defined_names()) or "Define it: extend.defines(domain, name).",
        )

    def record(*inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        values = [None if x is None else as_array(x).value for x in inputs]
        made = tuple(map(Array, record_call(kind, values, attributes, outputs)))
        return made[0] if outputs == 1 else made

    record.__name__ = kind.rpartition("::")[2]
    return record
