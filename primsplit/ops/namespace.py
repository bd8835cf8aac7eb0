"""`op.MatMul(x, y)`: one callable for every operator of the standard.

Inputs are positional, attributes are keywords. Inputs may be Arrays, NumPy arrays, Python numbers (which take the dtype
that the operator's schema ties them to), sizes, or lists of sizes; None leaves an optional input out. An operator with
one output returns an Array, else a tuple; `outputs=` requests optional ones.
"""

from collections.abc import Callable
from typing import Any

from primsplit.ops.schema import Schema, exists, schema


class Operators:
    """The namespace `op`.

    `tracing.operators` sets `recorder`, which builds the callable of an operator from its schema.
    """

    recorder: Callable[[Schema], Callable[..., Any]]

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        if not exists(kind):
            raise AttributeError(f"{kind} is no operator of the ONNX standard")
        if not hasattr(type(self), "recorder"):  # nothing has been traced yet
            return _on_call(kind)
        function = type(self).recorder(schema(kind))
        setattr(self, kind, function)
        return function


op = Operators()


def _on_call(kind: str) -> Callable[..., Any]:
    """Return a function that looks the operator up when it is called."""

    def operator(*inputs: Any, **named: Any) -> Any:
        return getattr(op, kind)(*inputs, **named)

    return operator


class _Later:
    """The operators, each looked up at its first call: for tables that are built while modules are imported.

    Reading the standard's schemas takes longer than importing primsplit.
    """

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        return _on_call(kind)


later = _Later()
