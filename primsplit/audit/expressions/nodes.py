"""Ask a node what its expression depends on: its arguments as expressions, dtypes, constants and attributes."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.audit.trees import call, literal, tree
from primsplit.audit.written import UNKNOWN, OfCall
from primsplit.ir import AnyArray, Const, Op, Type, Value
from primsplit.ir.errors import PrimsplitError

Built = ast.expr
"""The expression of a node; for a node of several results, one that has a tuple or list of them as its value."""
Builder = Callable[["Node"], Built]
LARGEST = 2**31 - 1
"""An end of a slice that is at least as large means the end of the axis."""


@dataclass(frozen=True, slots=True)
class Node:
    """An op of a file with its arguments as expressions.

    `weak` are the arguments in which a number has no dtype: `x + 0.5`. `types` has the types that the file tells,
    `known` what nodes of the kind Constant hold.
    `name` is that of the node, `opset` the version of its domain.
    """

    op: Op
    arguments: tuple[ast.expr | None, ...]
    weak: tuple[ast.expr | None, ...]
    types: Mapping[Value, Type]
    known: Mapping[Value, Const]
    name: str
    opset: int

    def has(self, position: int) -> bool:
        """Whether the node has this input."""
        return position < len(self.arguments) and self.arguments[position] is not None

    def argument(self, position: int) -> ast.expr:
        """Return the expression of an input."""
        found = self.arguments[position] if position < len(self.arguments) else None
        if found is None:
            raise self.refusal(f"has no input {position}")
        return found

    def dtype(self, position: int = 0) -> np.dtype[Any] | None:
        """Return the dtype of an input; None where the file does not tell it."""
        told = self._type(position)
        return None if told is None else told.dtype

    def rank(self, position: int = 0) -> int | None:
        """Return the number of axes of an input; None where the file does not tell it."""
        told = self._type(position)
        return None if told is None else told.rank

    def shape(self, position: int = 0) -> tuple[Any, ...] | None:
        """Return the sizes of an input; None where the file does not tell them."""
        told = self._type(position)
        return None if told is None else told.shape

    def _type(self, position: int) -> Type | None:
        value = self.op.inputs[position] if position < len(self.op.inputs) else None
        value = None if value is None else self.known.get(value, value)
        return None if value is None else value.type if isinstance(value, Const) else self.types.get(value)

    def result(self, position: int = 0) -> Type | None:
        """Return the type of a result; None where the file does not tell it."""
        return self.types.get(self.op.outputs[position])

    def constant(self, position: int) -> AnyArray | None:
        """Return the numbers of an input that is a short constant, else None."""
        value = self.op.inputs[position] if position < len(self.op.inputs) else None
        value = None if value is None else self.known.get(value, value)
        return value.numpy() if isinstance(value, Const) and value.is_short else None

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute. Raises PrimsplitError for one that the caller of a function gives."""
        found = self.op.attributes.get(name, default)
        if isinstance(found, OfCall):
            raise self.refusal(f"takes the attribute {name} of the function around it")
        return found

    def integers(self, name: str, position: int) -> list[int] | ast.expr | None:
        """Return integers that an attribute or a constant input holds, else the expression of the input."""
        if name in self.op.attributes:
            found = self.attribute(name)
            return [found] if isinstance(found, int) else [int(v) for v in found]
        numbers = self.constant(position)
        if numbers is not None:
            return [int(v) for v in numbers.reshape(-1)]
        return self.argument(position) if self.has(position) else None

    def check_dtypes(self) -> None:
        """Raise PrimsplitError if an input or result has a dtype that NumPy does not have."""
        for value in (*self.op.inputs, *self.op.outputs):
            told = value.type if isinstance(value, Const) else None if value is None else self.types.get(value)
            if told is not None and told.dtype.isbuiltin == 2:
                raise self.refusal(f"has the dtype {told.dtype.name}, which NumPy does not have")

    def axis(self, default: int) -> int:
        """Return the attribute `axis`."""
        return int(self.attribute("axis", default))

    def refusal(self, why: str) -> PrimsplitError:
        """Return the error for a node that has no expression."""
        return PrimsplitError(
            f"{self.op.kind} {why}",
            place=self.op.place,
            because=(f"The node is called {self.name!r}." if self.name else "The node has no name.",),
            cure="No module of NumPy is written for this file. --style text lists it.",
        )


def dtype_tree(dtype: np.dtype[Any], node: Node) -> ast.expr:
    """Return `np.float32`. Raises PrimsplitError for a dtype that NumPy does not have."""
    if dtype.isbuiltin == 2 or dtype.kind not in "biuf":
        raise node.refusal(f"has the dtype {dtype.name}, which NumPy does not have")
    return tree("np.bool_" if dtype.kind == "b" else f"np.{dtype.name}")


def axis_tree(axes: list[int]) -> ast.expr:
    """Return `0` for one axis, `(0, 1)` for several."""
    return literal(axes[0] if len(axes) == 1 else tuple(axes))


def sizes_tree(sizes: list[int] | ast.expr | None) -> ast.expr:
    """Return a tuple of known sizes, or the expression of sizes that only the run knows."""
    assert sizes is not None
    return literal(tuple(sizes)) if isinstance(sizes, list) else sizes


def each(template: str) -> Builder:
    """Return the builder of a template in which `a`, `b`, `c` are the arguments; numbers in it need no dtype."""

    def build(node: Node) -> ast.expr:
        holes = {letter: found for letter, found in zip("abcd", node.weak, strict=False) if found is not None}
        return tree(template, **holes)

    return build


def helper(function: str, *names: str, **defaults: Any) -> Builder:
    """Return the builder of a call: the arguments, then attributes by name that differ from their defaults."""

    def build(node: Node) -> ast.expr:
        given = {n: node.attribute(n, d) for n, d in defaults.items()}
        named = {n: literal(v) for n, v in given.items() if v != defaults[n]}
        return call(function, *(literal(None) if a is None else a for a in node.arguments), **named)

    return build


def same_size(a: Any, b: Any) -> bool:
    """Whether two sizes of a file are known to be equal."""
    return str(a) == str(b) and UNKNOWN not in str(a)


def number_tree(node: Node, position: int) -> ast.expr:
    """Return an input of one element as a Python number."""
    number = node.constant(position)
    if number is None:
        return tree("k.item()", k=node.argument(position))
    return literal(number.reshape(-1)[0])


def is_float(dtype: np.dtype[Any] | None) -> bool:
    """Whether it is known to be a dtype of floats."""
    return dtype is not None and dtype.kind == "f"
