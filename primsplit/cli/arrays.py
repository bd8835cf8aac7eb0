"""Reads arrays for a program's inputs from the files that NumPy writes."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.cli.array_files import read_array_file
from primsplit.ir.errors import SpecError
from primsplit.programs.wholes import stem_of

Arrays = dict[str, npt.NDArray[Any]]

FLOAT8 = "float8"


def read_arrays(path: str, names: list[str]) -> Arrays:
    """The arrays of an .npz by name, or of an .npy under the only input's name. Raises FileError, SpecError.

    An array `z` becomes both inputs `z.real` and `z.imag` if they exist and no input is called `z`.
    """
    arrays: Arrays = {}
    for own, whole in _read(path, names).items():
        parts = _of_inputs(own, whole, names)
        if twice := [name for name in parts if name in arrays]:
            raise SpecError(f"{twice[0]} is in {os.path.basename(path)} twice: by itself and in a complex array")
        arrays.update(parts)
    return arrays


def _of_inputs(name: str, array: npt.NDArray[Any], names: list[str]) -> Arrays:
    real, imag = f"{name}.real", f"{name}.imag"
    if name in names or not {real, imag} <= {*names}:
        return {name: array}
    return {real: array.real.copy(), imag: array.imag.copy()}


def _read(path: str, names: list[str]) -> Arrays:
    """The arrays of a file, by their names in it.

    The array of an .npy by the name of the only input, complex or real.
    """
    found = read_array_file(path)
    if isinstance(found, dict):
        return {name: _native(array) for name, array in found.items()}
    stem = stem_of(*names) if len(names) == 2 else None
    if len(names) != 1 and stem is None:
        raise SpecError(
            f"{os.path.basename(path)} holds one array, and there are {len(names)} inputs",
            because=(f"the inputs are {', '.join(names)}",),
            cure="Save them together: np.savez('inputs.npz', **{name: array}).",
        )
    return {stem or names[0]: _native(found)}


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in this machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_declared(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """View a file's array in this dtype if the file holds it as bytes (a dtype that NumPy lacks) or uint8 (float8)."""
    if dtype.isbuiltin == 1:
        return array
    is_bytes = array.dtype == np.uint8 and dtype.name.startswith(FLOAT8)
    return array.view(dtype) if is_bytes or array.dtype == np.dtype(f"V{dtype.itemsize}") else array


def as_stored(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as a file can hold it: NumPy writes a float8 but cannot read it."""
    return array.view(np.uint8) if array.dtype.name.startswith(FLOAT8) else array
