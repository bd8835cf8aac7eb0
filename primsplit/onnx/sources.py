"""Find the source files of a program, which no output may overwrite: see `check_apart`."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType

from primsplit.ir import Block, Const, Value, walk
from primsplit.ir.errors import FileError, PrimsplitError
from primsplit.ir.values import Converted, Loaded
from primsplit.onnx.external_files import external_files
from primsplit.onnx.tensors import Tensor

DATA = (".onnx", ".data", ".npz", ".npy")
"""The endings of outputs' names, which modules never have."""


def files_of(blocks: Iterable[Block], read: Iterable[str] = ()) -> set[str]:
    """The files of the lines, models and weights that blocks come from, and of the other weights of those models.

    `read` are further files, of which each may be a model.
    """
    found = set(read)
    for block in blocks:
        for op in walk(block):
            if op.place is not None:
                found.add(op.place.filename)
            found.update(_files_of_values(op.inputs))
        found.update(_files_of_values(block.results))
    return found.union(*map(files_of_model, found))


def _files_of_values(values: Sequence[Value | None]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Const):
            if value.place is not None:
                yield value.place.filename
            data = value.data
            while isinstance(data, Converted):
                data = data.source
            if isinstance(data, Tensor):
                yield data.model
            elif isinstance(data, Loaded) and data.file:
                yield data.file


def files_of_model(path: str) -> set[str]:
    """Return a model's file and those of its weights; for any other file itself alone."""
    try:
        return {path, *external_files(path)} if os.path.isfile(path) else {path}
    except PrimsplitError:
        return {path}


def check_apart(written: Iterable[str], sources: Callable[[], Iterable[str]]) -> None:
    """Raise FileError if a file would overwrite one of the sources, or a module that is loaded.

    Two names are one file if the system finds the same file by them: links, and other spellings where case does not
    matter. The sources are computed only if there is a file to overwrite.
    """
    there = {path: (found.st_dev, found.st_ino) for path in written if (found := _stat(path)) is not None}
    if not there:
        return
    read = [*sources(), *(_modules() if any(not path.endswith(DATA) for path in there) else ())]
    known = {(found.st_dev, found.st_ino): path for path in read if (found := _stat(path)) is not None}
    for path, identity in there.items():
        if identity in known:
            other = known[identity]
            told = "the program is made of it" if other == path else f"it is {other}, which the program is made of"
            raise FileError(f"cannot write {path}: {told}", cure="Name another file.")


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


def _modules() -> Iterator[str]:
    """Yield the files of the modules that are loaded."""
    for module in [*sys.modules.values()]:
        file = vars(module).get("__file__") if isinstance(module, ModuleType) else None
        if isinstance(file, str):
            yield file
