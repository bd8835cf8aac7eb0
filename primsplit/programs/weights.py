"""The weights of a program as arrays, by name, for who trains, prunes or looks at them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import optree

from primsplit import trees
from primsplit.ir import AnyArray, Const

FOLDED = "it is a number of the file's computation, which went into other numbers too when the file was written"
"""Why an initializer of a file of primsplit's is no weight: the derivative by it would miss what it went into."""


class Weights(Mapping[str, AnyArray]):
    """Initializers by name: arrays that are not to be written to, read from the file when they are asked for.

    As an argument it is what a dict of its arrays is, and gradients with respect to it are a dict. Initializers that
    are `constants` are found by name, and are none of the weights that it goes through.
    """

    def __init__(self, initializers: Mapping[str, Const], constants: Mapping[str, str] | None = None) -> None:
        self._initializers = initializers
        self._names = tuple(name for name in initializers if name not in (constants or {}))

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {self._initializers[name].type}" for name in self._names) or "no weights"

    def __getitem__(self, name: str) -> AnyArray:
        return self._initializers[name].numpy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _parts(weights: Any) -> tuple[Any, tuple[str, ...], tuple[str, ...]]:
    names = tuple(weights)
    return list(weights.values()), names, names


def _as_dict(names: Any, arrays: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(names, arrays, strict=True))


optree.register_pytree_node(Weights, _parts, _as_dict, path_entry_type=optree.MappingEntry, namespace=trees.NAMESPACE)
