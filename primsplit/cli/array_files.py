"""Reads NumPy's .npz and .npy files, after a check that each header fits the bytes behind it.

Such a file may come from anywhere. Nothing in it is unpickled, no array is allocated before its size is known to be in
the file, and every failure is a FileError that names the file and the array.
"""

import math
import os
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from primsplit.ir.errors import FileError
from primsplit.ir.machine import memory

Array = npt.NDArray[Any]

NPY, ZIP = b"\x93NUMPY", b"PK"
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""The compressions that NumPy writes. Others could unpack a few bytes to gigabytes."""
MOST_TIMES = 1032
"""The largest ratio of unpacked to packed bytes: deflate reaches no higher."""


def read_array_file(path: str) -> Array | dict[str, Array]:
    """The arrays of an .npz by name, or the array of an .npy. Raises FileError."""
    with _told(f"{path} is no .npz or .npy file of arrays, or is not whole"):
        _check_plain(path)
        with open(path, "rb") as file:
            begin = file.read(len(NPY))
            file.seek(0)
            if begin == NPY:
                return _read_array(file, os.path.getsize(path), path)
            if begin[: len(ZIP)] != ZIP:
                raise ValueError
            with zipfile.ZipFile(file) as archive:
                _check_memory(archive, path)
                return dict(_members(archive, path))


def write_npz(file: BinaryIO, arrays: Mapping[str, Array]) -> None:
    """Write arrays as NumPy does, under any names: `np.savez` does not accept one called `file`."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _check_plain(path: str) -> None:
    """Raise FileError for a path that is not a regular file: opening a pipe would wait for its other end."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise FileError(f"cannot read {path}: it is {'a folder' if stat.S_ISDIR(mode) else 'a device or pipe'}")


@contextmanager
def _told(otherwise: str) -> Iterator[None]:
    """Turn any error of reading into a FileError, with these words if the system gives none."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        told = error.strerror and f"cannot read {error.filename or 'the file'}: {error.strerror}"
        raise FileError(told or otherwise) from None
    except Exception:  # noqa: BLE001  # zipfile, zlib, NumPy and its parser of headers raise classes of all kinds
        raise FileError(otherwise) from None


def _check_memory(archive: zipfile.ZipFile, path: str) -> None:
    size = sum(member.file_size for member in archive.infolist())
    if size > memory():
        raise FileError(f"{path} holds {size / 1e9:.3g} GB, which is more than this machine's memory")


def _members(archive: zipfile.ZipFile, path: str) -> Iterator[tuple[str, Array]]:
    found: set[str] = set()
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        what = f"{name} of {path}"
        if name == member.filename:
            raise FileError(f"{what} is no array: its name does not end in .npy")
        if name in found:
            raise FileError(f"{path} has two arrays {name}")
        found.add(name)
        if member.compress_type not in COMPRESSIONS or member.file_size > MOST_TIMES * (member.compress_size + 1):
            raise FileError(f"cannot read {what}: it is not packed as NumPy packs")
        with _told(f"cannot read {what}: it is damaged, or encrypted"), archive.open(member) as file:
            yield name, _read_array(file, member.file_size, what)


def _read_array(file: Any, size: int, what: str) -> Array:
    """The array in a file of `size` bytes.

    Raises FileError if its header states another size, or it does not hold numbers.
    """
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    except Exception as error:  # noqa: BLE001  # see above
        told = " ".join(str(error).split())[:200] or type(error).__name__
        cure = "Save numbers of 8 bits as their bytes: x.view(np.uint8)."
        raise FileError(
            f"cannot read {what}: its header is none: {told}", cure=cure if "descr" in told else ""
        ) from None
    if dtype.hasobject:
        raise FileError(f"{what} is an array of Python objects", cure="Save numbers: np.asarray(x, float).")
    there, wanted = size - file.tell(), math.prod(shape) * dtype.itemsize
    if there != wanted or any(d < 0 for d in shape):
        told = f"its header tells {dtype}{list(shape)}, of {wanted} bytes, and {there} follow"
        raise FileError(f"cannot read {what}: {told}"[:400])
    try:
        file.seek(0)
        found: Array = np.lib.format.read_array(file, allow_pickle=False)
    except MemoryError:
        raise FileError(f"cannot read {what}: there is no memory for its {wanted / 1e9:.3g} GB") from None
    return found
