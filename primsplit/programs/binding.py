"""Bind a call's arguments to a program's inputs: array leaves, checked against the types of the inputs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import Block, Const
from primsplit.ir.errors import SpecError
from primsplit.programs.wholes import given_parts
from primsplit.tracing import trees
from primsplit.tracing.specs import check_array, check_expressions

ARRAY = object()
"""The mark in `Program.static` of a leaf that is an input."""


class Binding:
    """The part of a Program that binds arguments to its inputs."""

    block: Block
    inputs: tuple[str, ...]
    arguments: trees.TreeSpec
    static: tuple[Any, ...]
    initializers: dict[str, Const]
    given: list[int]

    @property
    def given_names(self) -> list[str]:
        """The names of the inputs that a call gives."""
        return [self.inputs[i] for i in self.given]

    @property
    def leaf_names(self) -> list[str | None]:
        """The name of the input for each leaf of the arguments; None for a static one."""
        given = iter(self.given_names)
        return [next(given) if fixed is ARRAY else None for fixed in self.static]

    def bind(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Return the array leaves of a call. Raises SpecError for another structure, or other static arguments."""
        leaves, spec = trees.flatten((args, dict(named)))
        told = leaves if spec == self.arguments else given_parts(self.arguments, self.leaf_names, (args, dict(named)))
        if told is None:
            raise SpecError(
                f"{self.block.name} was traced for arguments of another structure",
                place=tracing.user_place(),
                because=(
                    f"inputs: {_first_names(self.inputs)}",
                    f"traced: {trees.brief(self.arguments)}",
                    f"given:  {trees.brief(spec)}",
                    *([f"params: {_first_names(self.initializers)}"] if self.initializers and named else []),
                ),
            )
        arrays = []
        for leaf, fixed in zip(told, self.static, strict=True):
            if fixed is ARRAY:
                arrays.append(leaf)
            elif fixed is not leaf and fixed != leaf:
                raise SpecError(
                    f"{self.block.name} was traced with the static argument {fixed!r}, not {leaf!r}",
                    place=tracing.user_place(),
                )
        return arrays

    def check_arrays(self, leaves: Sequence[Any], sizes: dict[str, int] | None = None) -> list[npt.NDArray[Any]]:
        """Return the leaves of a call as NumPy arrays that fit the inputs' types; sizes of one symbol must be equal.

        `sizes` learns the values of the symbols.
        """
        sizes = {} if sizes is None else sizes
        arrays = []
        for leaf, position in zip(leaves, self.given, strict=True):
            name, var = self.inputs[position], self.block.params[position]
            array = np.asarray(leaf)
            if isinstance(leaf, float | int) and not isinstance(leaf, np.generic):
                array = np.asarray(leaf, var.type.dtype)
            check_array(array, name, var.type, sizes)
            arrays.append(array)
        told = ((self.inputs[i], a.shape, self.block.params[i].type) for i, a in zip(self.given, arrays, strict=True))
        check_expressions(told, sizes)
        return arrays


def _first_names(names: Iterable[str]) -> str:
    """Return the first of the names, for an error."""
    told = list(names)
    return f"{', '.join(told[:8])}{', ...' if len(told) > 8 else ''}"
