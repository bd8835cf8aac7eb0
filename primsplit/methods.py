"""What a traced array's methods are, and which functions give an array where NumPy gives a number."""

from typing import Any

import numpy as np

KEEPING = ("astype", "copy", np.conjugate)
"""Methods that make a number of a number, and an array without axes of one."""

ARRAYS = frozenset({
    np.array, np.asanyarray, np.asarray, np.ascontiguousarray, np.asfortranarray, np.astype, np.broadcast_arrays,
    np.broadcast_to, np.conjugate, np.copy, np.cov, np.empty_like, np.full_like, np.moveaxis, np.ones_like, np.real,
    np.real_if_close, np.reshape, np.resize, np.roll, np.select, np.squeeze, np.swapaxes, np.tensordot, np.transpose,
    np.where, np.zeros_like, "astype", "copy", "reshape", "transpose", "view",
})  # fmt: skip
"""Functions and methods whose result without axes is an array; of all others it is a number."""

METHODS: dict[str, Any] = {
    "all": np.all, "any": np.any, "argmax": np.argmax, "argmin": np.argmin, "argpartition": np.argpartition,
    "argsort": np.argsort, "astype": "astype", "choose": np.choose, "clip": np.clip, "compress": "compress",
    "conj": np.conjugate, "conjugate": np.conjugate, "copy": "copy", "cumprod": np.cumprod, "cumsum": np.cumsum,
    "diagonal": np.diagonal, "dot": np.dot, "fill": "fill", "flatten": "flatten", "max": np.max, "mean": np.mean,
    "min": np.min, "nonzero": np.nonzero, "partition": "partition_in_place", "prod": np.prod, "put": np.put,
    "ravel": np.ravel, "repeat": np.repeat, "reshape": "reshape", "round": np.round, "searchsorted": np.searchsorted,
    "sort": "sort_in_place", "squeeze": np.squeeze, "std": np.std, "sum": np.sum, "swapaxes": np.swapaxes,
    "take": np.take, "trace": np.trace, "transpose": "transpose", "var": np.var, "view": "view",
}  # fmt: skip
