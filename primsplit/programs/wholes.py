"""Pass complex arrays in and out of a program, which holds two real ones for each.

```
program(z)  with z = a + 1j * b   ->   inputs z.real = a, z.imag = b
```

A call costs no more for that if all arrays are real: parts are searched for only if the structure of a call differs
from the traced one, and the result is kept with the look of that call (`Program.runner`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from primsplit.tracing import trees

AnyArray = npt.NDArray[Any]
Call = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Positional and keyword arguments."""


def pairs_of(spec: trees.TreeSpec, names: Sequence[Any]) -> list[tuple[str, str]]:
    """Return the names of both parts of each complex leaf of a structure, whose leaves have these names."""
    marked = trees.whole_leaves(spec, names)
    return [(mark.real, mark.imag) for mark in marked if isinstance(mark, trees.Parts)]


def flat_tree(names: Sequence[str], pairs: Iterable[tuple[str, str]]) -> tuple[Any, ...]:
    """Return a tuple with an item for each name.

    Two that follow each other and are one of the pairs are a complex one.
    """
    first = {b: a for a, b in pairs}
    items: list[Any] = []
    for before, name in zip(("", *names), names, strict=False):
        if name in first and first[name] == before:
            items[-1] = trees.Parts(0.0, 0.0)
        else:
            items.append(0.0)
    return tuple(items)


def given_parts(spec: trees.TreeSpec, names: Sequence[str | None], tree: Call) -> list[Any] | None:
    """Return the leaves that a call gives, whose complex ones are two inputs; None if it does not fit the structure.

    `names` are those of the leaves, None for a static one. A complex leaf may be passed for two inputs `z.real` and
    `z.imag` of a file too. If the structure has complex leaves, a real number or array may be passed for one, and all
    arguments may be passed as the inputs in their order.
    """
    leaves, own = trees.in_parts(tree)
    if own == spec:
        return leaves
    marks = trees.whole_leaves(spec, range(len(names)))
    is_flat = None not in names and not tree[1] and all(trees.flatten(x)[1].is_leaf() for x in tree[0])
    if not any(isinstance(mark, trees.Parts) for mark in marks):
        return leaves if is_flat and spec == trees.flatten(((*leaves,), {}))[1] and _fit_names(tree, names) else None
    if is_flat and own == trees.flatten(((*names,), {}))[1]:
        return leaves
    try:
        found = trees.leaves_like(spec, tree)
    except (ValueError, TypeError):
        return None
    return found if all(trees.flatten(x)[1].is_leaf() for x in found) else None


def _fit_names(tree: Call, names: Sequence[str | None]) -> bool:
    """Whether each complex leaf of a call is at two inputs that are named as its parts."""
    place = 0
    for leaf in trees.flatten(tree)[0]:
        if trees.is_complex(leaf):
            first, second = names[place], names[place + 1]
            if first is None or second is None or stem_of(first, second) is None:
                return False
            place += 1
        place += 1
    return True


def stem_of(first: str, second: str) -> str | None:
    """Return the common name of two parts: `z` of `z.real` and `z.imag`, None for others."""
    stem, dot, part = first.rpartition(".")
    return stem if dot and part == "real" and second == f"{stem}.imag" else None


def both(leaves: Iterable[Any]) -> list[Any]:
    """Return the leaves, both parts of each complex one."""
    found: list[Any] = []
    for leaf in leaves:
        if trees.is_complex(leaf):
            parts = trees.parts_of(leaf)
            found += parts.real, parts.imag
        else:
            found.append(leaf)
    return found


def joined(arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """The arrays by name, with `z` in place of `z.real` and `z.imag` if both are there, and nothing is called `z`."""
    found: dict[str, AnyArray] = {}
    for name, array in arrays.items():
        stem, _, part = name.rpartition(".")
        other = arrays.get(f"{stem}.{'imag' if part == 'real' else 'real'}") if part in {"real", "imag"} else None
        fits = other is not None and other.dtype == array.dtype in trees.COMPLEX_OF and other.shape == array.shape
        if not fits or not stem or stem in arrays:
            found[name] = array
        elif part == "real":
            found[stem] = trees.whole(array, other)
    return found
