"""What a file says of its states, as metadata: a JSON list of rows with `name`, `in`, `out` and `initial`.

`in` is the input that takes the value, `out` the output that gives the next, or null where the model only reads it. A
driver feeds `initial` at first, and from then on what `out` was: one number for all elements, or the elements' bytes,
little-endian in C order, as base64; the dtype and shape are the input's. Where there is no driver that reads JSON: the
names are always `state.<name>.in` and `state.<name>.out`.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.errors import ParseError
from primsplit.ir import Type
from primsplit.names import StatePair

STATES = "primsplit.states"
"""The key of the metadata."""


def told_states(pairs: Iterable[StatePair]) -> dict[str, str]:
    """The metadata of a file with these states; nothing where there are none."""
    rows = [{"name": p.name, "in": p.input, "out": p.output, "initial": _told(p.initial)} for p in pairs]
    return {STATES: json.dumps(rows)} if rows else {}


def read_states(metadata: Mapping[str, str], types: Mapping[str, Type]) -> tuple[StatePair, ...]:
    """The states that a file's metadata tell, whose inputs have these types. Raises ParseError."""
    try:
        return tuple(
            StatePair(row["name"], row["in"], row["out"], _read(row["initial"], types[row["in"]]))
            for row in json.loads(metadata.get(STATES, "[]"))
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"the metadata {STATES} of the file cannot be read: {error!r}") from None


def _told(initial: npt.NDArray[Any]) -> Any:
    """One number where all elements are alike and JSON has it, else all bytes."""
    first = initial.reshape(-1)[:1].tobytes()
    is_alike = initial.size > 0 and initial.tobytes() == first * initial.size
    if is_alike and np.isfinite(initial.reshape(-1)[0]):
        return initial.reshape(-1)[0].item()
    return base64.b64encode(initial.astype(initial.dtype.newbyteorder("<")).tobytes()).decode()


def _read(told: Any, type: Type) -> npt.NDArray[Any]:
    shape = tuple(int(d) for d in type.shape or () if isinstance(d, int))
    if not isinstance(told, str):
        return np.full(shape, told, type.dtype)
    found = np.frombuffer(base64.b64decode(told), type.dtype.newbyteorder("<"))
    return found.astype(type.dtype).reshape(shape)
