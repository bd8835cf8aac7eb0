"""Define look-ups of numbers and texts among keys, of `ai.onnx.ml`; their results have no derivative.

A key is compared with every input: a table of a few hundred keys is no slower than a search.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.jumps import jumping
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array

Keys = npt.NDArray[Any]


@defines("ai.onnx.ml::OneHotEncoder")
def one_hot_encoder(
    x: Array,
    *,
    outputs: int = 1,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[str] = (),
    zeros: int = 1,
) -> Any:
    """Return float32, 1 at the category of each element along a new last axis; numbers are truncated to integers first.

    An element of no category gives zeros, also for `zeros` = 0, where onnxruntime's kernel fails.
    """
    whole = x if _is_text(x) or x.dtype == np.int64 else op.Cast(x, to=np.int64)
    hits = _hits(whole, _table(cats_strings if _is_text(x) else cats_int64s, whole))
    return jumping(op.Cast(hits, to=np.float32), x, "OneHotEncoder")


@defines("ai.onnx.ml::LabelEncoder")
def label_encoder(x: Array, *, outputs: int = 1, **attributes: Any) -> Any:
    """Return the value of the key that equals the element, or else the default; NaN is a key like others.

    attributes: keys_T, values_T and default_T, with T floats, int64s, strings, or tensor.
    """
    keys, values = _given(attributes, "keys"), _given(attributes, "values")
    default = _default(attributes, values)
    hits = op.Cast(_hits(x, keys.astype(x.dtype)), to=np.int32)
    place = op.ArgMax(hits, axis=-1, keepdims=0)
    is_known = op.Greater(op.ReduceMax(hits, [-1], keepdims=0), 0)
    return jumping(op.Where(is_known, op.Gather(_constant(values), place), _constant(default)), x, "LabelEncoder")


def _is_text(x: Array) -> bool:
    return x.dtype == np.object_


def _constant(array: Keys) -> Array:
    return Array(tracing.constant(array))


def _table(given: Sequence[Any], x: Array) -> Keys:
    return np.array(given, x.dtype)


def _hits(x: Array, keys: Keys) -> Array:
    """Return which key each element is, along a new last axis."""
    wide = op.Unsqueeze(x, [-1])
    hits = op.Equal(wide, _constant(keys))
    if keys.dtype.kind != "f" or not np.isnan(keys).any():
        return hits
    return op.Or(hits, op.And(op.IsNaN(wide), _constant(np.isnan(keys))))


DTYPES = {"floats": np.float32, "int64s": np.int64, "strings": np.object_}


def _given(attributes: dict[str, Any], name: str) -> Keys:
    """Return the keys or values of a LabelEncoder. Raises UnsupportedFunction if it has none."""
    for suffix, dtype in DTYPES.items():
        if len(attributes.get(f"{name}_{suffix}", ())):
            return np.array(attributes[f"{name}_{suffix}"], dtype)
    if f"{name}_tensor" not in attributes:
        raise UnsupportedFunction(f"a LabelEncoder without {name}", place=tracing.current().place)
    return np.asarray(attributes[f"{name}_tensor"])


def _default(attributes: dict[str, Any], values: Keys) -> Keys:
    if "default_tensor" in attributes:
        return np.asarray(attributes["default_tensor"]).reshape(())
    said = {"f": ("default_float", -0.0), "i": ("default_int64", -1), "O": ("default_string", "_Unused")}
    name, unsaid = said[values.dtype.kind]
    return np.asarray(attributes.get(name, unsaid), values.dtype)
