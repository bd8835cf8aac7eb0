"""The table of rewrites for `simplify`, and `Site`, the op that a rewrite is called with.

A rewrite looks at one op and the ops that define its inputs. It returns a Value that replaces the op's output (a tuple
for several), or an op that replaces it (with the same outputs), or None.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from primsplit.ir import Const, Op, Type, Value, Var
from primsplit.ops.schema import schema

Rewritten = Value | tuple[Value, ...] | Op | None


@dataclass(frozen=True, slots=True)
class Site:
    """One op as a rewrite sees it. `made_by` is the op that defines a Var; `add` puts an op before this one."""

    op: Op
    made_by: Mapping[Var, Op]
    add: Callable[[Op], None]

    @property
    def type(self) -> Type:
        """The type of the first output."""
        return self.op.outputs[0].type

    def input(self, position: int) -> Value | None:
        """Return an input, None if it is absent."""
        return self.op.inputs[position] if position < len(self.op.inputs) else None

    def maker(self, value: Value | None, *kinds: str) -> Op | None:
        """Return the op that defines a value, if it is of one of these kinds."""
        made = self.made_by.get(value) if isinstance(value, Var) else None
        return made if made is not None and made.kind in kinds else None

    def attribute(self, name: str) -> Any:
        """Return an attribute, or the schema's default."""
        return attribute(self.op, name)

    def becomes(self, kind: str, inputs: Sequence[Value | None], attributes: Mapping[str, Any] | None = None) -> Op:
        """Return another op that defines this one's outputs."""
        return self.op.beside(kind, tuple(inputs), self.op.outputs, attributes)

    def make(self, type: Type, inputs: Sequence[Value | None]) -> Var:
        """Return the output, of this type, of an op like this one that is put before it."""
        var = Var(type)
        self.add(replace(self.op, inputs=tuple(inputs), outputs=(var,)))
        return var


Rewrite = Callable[[Site], Rewritten]
REWRITES: dict[str, list[Rewrite]] = {}


def rewrite(*kinds: str) -> Callable[[Rewrite], Rewrite]:
    """Register a rewrite of these operators; those registered first are tried first."""

    def register(function: Rewrite) -> Rewrite:
        for kind in kinds:
            REWRITES.setdefault(kind, []).append(function)
        return function

    return register


def attribute(op: Op, name: str) -> Any:
    """Return an attribute, or the schema's default."""
    return op.attributes[name] if name in op.attributes else schema(op.kind).defaults.get(name)


def number(value: Value | None) -> np.generic | None:
    """Return the number that all elements of a constant are: see `Const.number`."""
    return value.number if isinstance(value, Const) else None


def is_zero(value: Value | None) -> bool:
    """Whether it is a constant that is 0 everywhere, of either sign."""
    found = number(value)
    return found is not None and bool(found == 0)


def scalar(number: Any, dtype: np.dtype[Any]) -> Const:
    """Return a scalar constant."""
    return Const(np.asarray(number).astype(dtype).reshape(()))
