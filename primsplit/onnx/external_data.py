"""Find the file that holds the numbers of a tensor, and check that its model may read it.

A model from elsewhere must not read files of its reader. Its data lie in a plain file inside of the model's folder,
also after links are followed, and have the size of the tensor's shape.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping

import onnx

from primsplit.ir.errors import FileError, ParseError

NUMBER = re.compile(r"-?[0-9]{1,20}")
IN_MEMORY = "_ORT_MEM_ADDR_"
"""A part of a location for which onnxruntime takes the offset for an address of its memory."""


def entries_of(tensor: onnx.TensorProto, path: str) -> Mapping[str, str]:
    """Return the entries about the data of a tensor, by key. Raises ParseError for a key that occurs twice."""
    counts = Counter(e.key for e in tensor.external_data)
    if twice := [key for key, count in counts.items() if count > 1]:  # readers differ in which of the two they take
        raise ParseError(f"{path}: the location of the data of {_name(tensor)} is given twice: {twice[0]}")
    return {e.key: e.value for e in tensor.external_data}


def check_external(tensor: onnx.TensorProto, size: int, path: str) -> None:
    """Raise ParseError for entries that no data can have, FileError for missing data."""
    entries = entries_of(tensor, path)
    where = external_path(tensor, path)
    numbers = [entries.get("offset", "0"), entries.get("length", str(size))]
    if not all(map(NUMBER.fullmatch, numbers)):
        raise ParseError(f"{path}: the location of the data of {_name(tensor)} is no number: {_told(entries)}")
    offset, length = map(int, numbers)
    if tensor.data_type == onnx.TensorProto.STRING or offset < 0 or length != size:
        raise ParseError(f"{path}: {_name(tensor)} takes {size} bytes, and its data are said to be {_told(entries)}")
    try:
        found = os.stat(os.path.join(os.path.dirname(os.path.abspath(path)), entries["location"]))
    except OSError as error:
        raise FileError(f"cannot read the data of {_name(tensor)} at {where}: {error.strerror}") from None
    if not os.path.isfile(where):
        raise FileError(f"cannot read the data of {_name(tensor)}: {where} is no file")
    _check_names(found, where, _name(tensor))
    if offset + length > found.st_size:
        told = f"{_name(tensor)} lies at {offset} to {offset + length}"
        raise FileError(f"{where} ends at byte {found.st_size}, and {told}")


def external_path(tensor: onnx.TensorProto, path: str) -> str:
    """Return the file that holds the data of a tensor. Raises ParseError if it is not in the model's folder.

    A model that is a link to a file elsewhere, as in a cache of downloads, may have its data beside that file too.
    """
    location = entries_of(tensor, path).get("location", "")
    if not location or "\0" in location:
        raise ParseError(f"{path}: the data of {_name(tensor)} are in another file, and it is not said in which")
    folder = os.path.dirname(os.path.abspath(path))
    written = os.path.join(folder, location)
    found = os.path.realpath(written)
    folders = {os.path.realpath(folder), os.path.dirname(os.path.realpath(path))}
    is_relative = not os.path.isabs(location) and not os.path.splitdrive(location)[0]
    # Some readers take `link/..` out of the path before the system can follow the link.
    is_inside = _is_inside(os.path.normpath(written), folder) and any(_is_inside(found, f) for f in folders)
    if not is_relative or IN_MEMORY in location or not is_inside:
        raise ParseError(f"{path}: the data of {_name(tensor)} lie outside the model's folder, at {location}")
    return found


def _is_inside(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath([folder, path]) == folder
    except ValueError:  # two drives have no path in common
        return False


def _check_names(found: os.stat_result, where: str, name: str) -> None:
    """Raise FileError for a file with another name that is not beside it: a hard link leads out of any folder."""
    if found.st_nlink == 1:
        return
    with os.scandir(os.path.dirname(where)) as entries:
        beside = sum(entry.inode() == found.st_ino and entry.is_file(follow_symlinks=False) for entry in entries)
    if found.st_nlink > beside > 0:
        raise FileError(
            f"cannot read the data of {name}: {where} is a hard link to a file that has a name elsewhere too",
            cure="Copy the model's files into a folder of their own.",
        )


def _name(tensor: onnx.TensorProto) -> str:
    return tensor.name or "a constant"


def _told(entries: Mapping[str, str]) -> str:
    return ", ".join(f"{k} {v}" for k, v in entries.items())[:200]
