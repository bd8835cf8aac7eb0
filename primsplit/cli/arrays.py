"""Arrays for inputs, read from the files that NumPy writes."""

import os
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from primsplit.errors import FileError, SpecError

Arrays = dict[str, npt.NDArray[Any]]

FLOAT8 = "float8"


def read_arrays(path: str, names: list[str]) -> Arrays:
    """The arrays of an .npz by name, or of an .npy under the only input's name. Raises FileError, SpecError."""
    try:
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, BadZipFile):
        raise FileError(f"{path} is no .npz or .npy file of arrays, or is not whole") from None
    if not isinstance(loaded, np.ndarray):
        with loaded:
            return {name: _native(_member(loaded, name, path)) for name in loaded.files}
    if len(names) != 1:
        raise SpecError(
            f"{os.path.basename(path)} holds one array, and there are {len(names)} inputs",
            because=(f"the inputs are {', '.join(names)}",),
            cure="Save them together: np.savez('inputs.npz', **{name: array}).",
        )
    return {names[0]: _native(loaded)}


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in this machine's order of bytes."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _member(loaded: Any, name: str, path: str) -> npt.NDArray[Any]:
    """An array of an .npz. Raises FileError for one that NumPy writes, and does not read: a float8."""
    try:
        found: npt.NDArray[Any] = loaded[name]
    except (BadZipFile, EOFError, OSError) as error:
        raise FileError(f"cannot read {name} of {path}: {error}") from None
    except ValueError as error:
        if "allow_pickle" in str(error):
            told = f"{name} of {path} is an array of Python objects"
            raise FileError(told, cure="Save numbers: np.asarray(x, float).") from None
        raise FileError(
            f"cannot read {name} of {path}: {error}", cure="Save numbers of 8 bits as their bytes: x.view(np.uint8)."
        ) from None
    return found


def as_declared(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array of a file; numbers of a dtype that NumPy does not know are bytes there, those of a float8 uint8."""
    if dtype.isbuiltin == 1:
        return array
    is_bytes = array.dtype == np.uint8 and dtype.name.startswith(FLOAT8)
    return array.view(dtype) if is_bytes or array.dtype == np.dtype(f"V{dtype.itemsize}") else array


def as_stored(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as a file can hold it: NumPy writes a float8, and cannot read it."""
    return array.view(np.uint8) if array.dtype.name.startswith(FLOAT8) else array
