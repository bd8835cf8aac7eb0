"""Write models to files: completely or not at all, several together, long data in a file beside them."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence

from primsplit.ir.atomic_files import file_of, not_written
from primsplit.ir.errors import FileError
from primsplit.onnx.one_protobuf import write_protobuf
from primsplit.onnx.save import Model, place
from primsplit.onnx.sources import check_apart
from primsplit.onnx.tensors import copy_bytes, size_in_file

ALIGNMENT = 65536
"""Data in a file of data begin at a multiple of this, which every system can map into memory."""
ALIGNED = 2**20
"""The number of bytes from which on data are aligned."""


def write_models(models: Sequence[tuple[Model, str]], sources: Callable[[], Iterable[str]] = tuple) -> None:
    """Write models to paths in one folder; data above 1.5 GB of a model go to `path + ".data"`.

    All are written under other names first and then renamed, so that they appear together or not at all. Raises
    FileError if a path cannot be written, or is one of the files that the models read, the `sources`.
    """
    path = models[0][1]
    folder = os.path.dirname(os.path.abspath(path))
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".primsplit-") as scratch:
            names: list[str] = []
            for model, path in models:
                file_of(path)
                names += _write(model, scratch, os.path.basename(path))
            check_apart([os.path.join(folder, name) for name in names], sources)
            _put(names, scratch, folder)
    except FileError:
        raise
    except OSError as error:
        raise not_written(path, error) from None


def _write(model: Model, folder: str, name: str) -> list[str]:
    """Write one model; return the names of its files, in the order in which they may appear."""
    path = os.path.join(folder, name)
    if model.fits:
        with open(path, "wb") as file:
            write_protobuf(model.proto, model.waiting, file)
        return [name]
    data = f"{name}.data"
    _write_data(model, os.path.join(folder, data), data)
    with open(path, "wb") as file:
        file.write(model.proto.SerializeToString())
    return [data, name]


def _write_data(model: Model, path: str, location: str) -> None:
    """Write the data that wait, one after the other, and their locations into the tensors of the model."""
    with open(path, "wb") as file:
        for tensor, const in model.waiting:
            start = file.tell()
            if size_in_file(const) >= ALIGNED:
                start = -(-start // ALIGNMENT) * ALIGNMENT
                file.seek(start)
            copy_bytes(const.data, file)
            place(tensor, {"location": location, "offset": start, "length": file.tell() - start})


def _put(names: Sequence[str], scratch: str, folder: str) -> None:
    """Move the files into the folder; if one cannot be moved, restore those before it."""
    files = {name: file_of(os.path.join(folder, name)) for name in names}
    earlier = {name: _kept(files[name], os.path.join(scratch, f"{name}.earlier")) for name in names}
    try:
        for name in names:
            os.replace(os.path.join(scratch, name), files[name])
    except BaseException:  # an interrupt between two of them too
        for name in names:
            path, kept = files[name], earlier[name]
            if os.path.exists(os.path.join(scratch, name)):
                continue
            if kept is None:
                os.unlink(path)
            else:
                os.replace(kept, path)
        raise


def _kept(path: str, name: str) -> str | None:
    """Return a second name of the file, under which it remains once another has its own; None if there is none."""
    if not os.path.lexists(path):
        return None
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError:  # a file system without such names
        shutil.copy2(path, name, follow_symlinks=False)
    return name
