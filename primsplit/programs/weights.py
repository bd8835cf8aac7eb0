"""The weights of a program as arrays by name, to train, prune or look at them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import optree

from primsplit.ir import AnyArray, Block, Const, Var, walk
from primsplit.ir.plain_text import in_one_line
from primsplit.tracing import trees

MERGED = 2
"""The number of ops that read a weight which may be several parameters."""


def merged_weights(block: Block, inputs: Sequence[str], defaults: Mapping[str, Const]) -> list[dict[str, Any]]:
    """Return a row per weight that is an input of a block, is one number everywhere, and is read by several ops.

    It may be several parameters: exporters write equal arrays once, and the scales of all layer norms of a model that
    was never trained are ones. `readers` counts the ops.
    """
    readers = Counter(v for op in walk(block) for v in set(op.inputs) if isinstance(v, Var))
    params = dict(zip(inputs, block.params, strict=True))
    return [
        {"name": name, "readers": readers[params[name]]}
        for name, const in defaults.items()
        if name in params and readers[params[name]] >= MERGED and const.type.rank and _is_one_number(const.numpy())
    ]


def _is_one_number(array: AnyArray) -> bool:
    return array.size > 1 and bool((array == array.reshape(-1)[0]).all())


class Weights(Mapping[str, AnyArray]):
    """Initializers by name: read-only arrays, read from the file when they are asked for.

    As an argument it acts like a dict of its arrays, and gradients with respect to it are a dict. Initializers that are
    `constants` are found by name, but are not among the weights that it iterates over.
    """

    def __init__(self, initializers: Mapping[str, Const], constants: Mapping[str, str] | None = None) -> None:
        self._initializers = initializers
        self._names = tuple(name for name in initializers if name not in (constants or {}))

    def __repr__(self) -> str:
        told = (in_one_line(f"{name}: {self._initializers[name].type}") for name in self._names)
        return "\n".join(told) or "no weights"

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
