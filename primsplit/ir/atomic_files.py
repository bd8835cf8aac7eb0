"""Write a file whole or not at all: to a temporary place first, then move it to its path."""

import errno
import os
import tempfile
from collections.abc import Callable
from typing import BinaryIO

from primsplit.ir.errors import FileError


def write_whole(path: str, write: Callable[[BinaryIO], object]) -> None:
    """Write the file at `path`; if that fails, the old file stays. Raises FileError."""
    try:
        target = file_of(path)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(target), prefix=".primsplit-") as scratch:
            part = os.path.join(scratch, "part")
            with open(part, "wb") as file:
                write(file)
            os.replace(part, target)
    except FileError:
        raise
    except OSError as error:
        raise not_written(path, error) from None


def not_written(path: str, error: OSError) -> FileError:
    """Return the FileError for an OSError that kept a file from being written."""
    folder = os.path.dirname(path)
    why = f"there is no folder {folder}" if folder and not os.path.exists(folder) else error.strerror or error
    return FileError(f"cannot write {path or repr(path)}: {why}")


def file_of(path: str | os.PathLike[str]) -> str:
    """Return the file that `path` names, whether it exists or not; a symbolic link is followed.

    Raises OSError for a folder, for a device or pipe (which a file would replace), and for a NUL character.
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "a name has no NUL character", path)
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", path)
    if os.path.exists(path) and not os.path.isfile(target):
        raise OSError(errno.EINVAL, "it is a device or pipe, not a file", path)
    return target
