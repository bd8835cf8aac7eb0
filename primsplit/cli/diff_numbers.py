"""Compares the outputs of two programs at samples: the examples of a Python file, an .npz, and draws of fixed seeds.

A program is one file, or two of which the second takes what the first keeps. Inputs of one
name, or place, are the same arrays.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from primsplit.cli.arrays import Arrays, read_arrays
from primsplit.cli.inputs import arrays_for
from primsplit.cli.late import compare_outputs, open_file, paired_names
from primsplit.ir.errors import PrimsplitError, SpecError

DRAWS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("random, seed 0", {"seed": 0}, False),
    ("random, seed 1, sizes of 1", {"seed": 1, "size": 1}, False),
    ("random, seed 2, sizes of 7, from -2 to 2", {"seed": 2, "size": 7}, True),
)
"""The samples that are drawn: the label, how, and whether floating-point inputs are of both signs."""


@dataclass(frozen=True, slots=True)
class Side:
    """The files of a program that is compared: their paths, what was read of them, and examples of a Python file."""

    paths: tuple[str, ...]
    files: tuple[Any, ...]
    known: Arrays


Given = tuple[str, Arrays]
"""Arrays for inputs, and what they are called."""


def arrays_given(path: str, sides: Sequence[Side]) -> Given:
    """Return the arrays of `--samples`. Raises FileError, and SpecError for an array that no input takes."""
    names = [*dict.fromkeys(name for side in sides for file in side.files for name in file.inputs)]
    arrays = read_arrays(path, names)
    unknown = [name for name in arrays if name not in names]
    if unknown:
        raise SpecError(
            f"{path} holds {unknown[0]}, which is no input", because=(f"the inputs are {', '.join(names)}",)
        )
    return os.path.basename(path), arrays


class Numbers:
    """Compares the outputs of two programs, file by file. Each file is opened once, where it is first run."""

    def __init__(self, old: Side, new: Side, samples: Given | None) -> None:
        self.sides = (old, new)
        self.samples = samples
        self.opened: tuple[list[Any], list[Any]] = ([], [])

    def of(self, position: int) -> dict[str, Any]:
        """Return the differences of the outputs of the files at a position, or why there are none: `notes`."""
        try:
            for side, opened in zip(self.sides, self.opened, strict=True):
                opened.extend(open_file(path) for path in side.paths[len(opened) : position + 1])
            files = [tuple(opened[: position + 1]) for opened in self.opened]
            return compare_outputs(files[0][-1], files[1][-1], _samples(*self.sides, files, self.samples))
        except PrimsplitError as error:
            return {"outputs": [], "samples": [], "notes": [error.what]}


def _samples(
    old: Side, new: Side, opened: list[tuple[Any, ...]], samples: Given | None
) -> Iterator[tuple[str, Arrays, Arrays]]:
    """Yield samples: what they are, and the inputs of the last of the opened files on both sides."""
    for label, known, drawing in _cases(old, new, opened, samples):
        given: list[dict[str, Any]] = [dict(known), dict(known)]
        for i, files in enumerate(zip(*opened, strict=True)):
            if i:
                for own, before in zip(given, opened, strict=True):
                    own.update(before[i - 1](own))
            arrays = _alike(files, (old.files[i].block, new.files[i].block), given, drawing)
            for own, more in zip(given, arrays, strict=True):
                own.update(more)
        yield label, *arrays


def _alike(
    files: tuple[Any, Any], blocks: tuple[Any, Any], given: Sequence[Arrays], drawing: Mapping[str, Any]
) -> tuple[Arrays, Arrays]:
    """Return inputs for two files: what is given for each, and draws, which are the same for inputs that are paired.

    The file with fewer sizes of the run is drawn for first, and those draws are given to the other.
    """
    names = paired_names([*files[0].inputs], [*files[1].inputs])
    is_new_first = _free_sizes(files[0]) > _free_sizes(files[1])
    pairs = [(b, a) for a, b in names.items()] if is_new_first else [*names.items()]
    first, second = (1, 0) if is_new_first else (0, 1)
    types = files[second].inputs
    told = {a: given[second][b] for a, b in pairs if b in given[second] and a not in given[first]}
    drawn = arrays_for(files[first], blocks[first], {**told, **given[first]}, **drawing)
    shared = {b: drawn[a].astype(types[b].dtype) for a, b in pairs if a in drawn and b not in given[second]}
    other = arrays_for(files[second], blocks[second], {**shared, **given[second]}, **drawing)
    return (other, drawn) if is_new_first else (drawn, other)


def _free_sizes(file: Any) -> int:
    """Return how many sizes of a file's inputs only the run knows."""
    return sum(not isinstance(size, int) for declared in file.inputs.values() for size in declared.shape or ())


def _cases(
    old: Side, new: Side, opened: list[tuple[Any, ...]], samples: Given | None
) -> Iterator[tuple[str, Arrays, Mapping[str, Any]]]:
    """Yield what samples are called, the arrays that are given, and how the others are drawn."""
    types = {n: t for files in opened for file in files for n, t in file.inputs.items()}
    if samples is not None:
        yield *samples, {}
        return
    known = {**new.known, **old.known}
    if known:
        yield "the examples", known, {}
    for label, drawing, is_signed in DRAWS:
        floats = [n for n, t in types.items() if t.dtype.kind == "f"]
        ranges = {"ranges": dict.fromkeys(floats, (-2.0, 2.0))} if is_signed else {}
        yield label, {}, {**drawing, **ranges}
