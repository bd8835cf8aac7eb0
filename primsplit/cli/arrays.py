"""Arrays for inputs, read from the files that NumPy writes."""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.errors import FileError, SpecError

Arrays = dict[str, npt.NDArray[Any]]


def read_arrays(path: str, names: list[str]) -> Arrays:
    """The arrays of an .npz by name, or of an .npy under the only input's name. Raises FileError, SpecError."""
    try:
        loaded = np.load(path, allow_pickle=False)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise FileError(f"{path} is no .npz or .npy file of arrays: {error}") from None
    if not isinstance(loaded, np.ndarray):
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    if len(names) != 1:
        raise SpecError(
            f"{os.path.basename(path)} holds one array, and there are {len(names)} inputs",
            because=(f"the inputs are {', '.join(names)}",),
            cure="Save them together: np.savez('inputs.npz', **{name: array}).",
        )
    return {names[0]: loaded}


def as_declared(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """NumPy's files hold a bfloat16 as two bytes without a meaning."""
    return array.view(dtype) if dtype.name == "bfloat16" and array.dtype == np.dtype("V2") else array
