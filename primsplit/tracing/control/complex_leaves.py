"""Make a result complex on every path of a branch or loop if one path returns it complex."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.ir.errors import DtypeError
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.complex_array import ComplexArray


class Made(NamedTuple):
    """The result of a path: its arrays, those of complex leaves in parts, and their structure."""

    arrays: list[Array]
    spec: trees.TreeSpec


def met(what: str, given: Mapping[str, Made]) -> dict[str, Made]:
    """Return what several paths return, by the paths' names; a Python number is complex if another path's is.

    Raises DtypeError if one returns a real array and another a complex one.
    """
    if len({made.spec for made in given.values()}) == 1:
        return dict(given)
    wholes = {name: trees.flatten(trees.unflatten(made.spec, made.arrays)) for name, made in given.items()}
    if len({spec for _, spec in wholes.values()}) > 1:
        return dict(given)
    labels = trees.labels(next(iter(wholes.values()))[1])
    columns = zip(labels, *(leaves for leaves, _ in wholes.values()), strict=True)
    met_columns = [_one_kind(f"{label} of {what}", dict(zip(given, c, strict=True))) for label, *c in columns]
    return {
        name: Made(*trees.in_parts(trees.unflatten(spec, [column[i] for column in met_columns])))
        for i, (name, (_, spec)) in enumerate(wholes.items())
    }


def _one_kind(what: str, leaves: Mapping[str, Array]) -> list[Array]:
    """Return the leaf on each path, complex on all if it is on one."""
    if not any(isinstance(x, ComplexArray) for x in leaves.values()):
        return list(leaves.values())
    leaves_of_one_kind: list[Array] = []
    for x in leaves.values():
        known = x.known() if x.weak else None
        if isinstance(x, ComplexArray):
            leaves_of_one_kind.append(x)
        elif known is not None:
            leaves_of_one_kind.append(ComplexArray(Array(tracing.constant(np.asarray(float(known)))), None, weak=True))
        else:
            raise DtypeError(
                f"{what} is real or complex, depending on the path",
                place=tracing.user_place(),
                because=tuple(f"{path}: {a.type}" for path, a in leaves.items()),
                cure="Convert the real one with .astype(complex), so that every path gives the same dtype.",
            )
    return leaves_of_one_kind
