"""Store states in a file's metadata: under `primsplit.states`, objects with `name`, `in`, `out` and `initial`.

`in` is the input that takes the value, `out` the output that returns the next, or null if the model only reads it. A
driver feeds `initial` at first, and from then on the last `out`: one number for all elements, or the elements' bytes,
little-endian in C order, as base64; the dtype and shape are the input's. For drivers that do not read JSON the names
are always `state.<name>.in` and `state.<name>.out`.

A file may contain anything there. All of it is checked before an array is created, and one number for all elements
stays one number in memory until a run needs them.
"""

import base64
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir import Type
from primsplit.ir.errors import ParseError
from primsplit.ir.machine import memory
from primsplit.ir.names import StatePair
from primsplit.tracing.specs import may_be

STATES = "primsplit.states"
"""The key of the metadata."""


def told_states(pairs: Iterable[StatePair]) -> dict[str, str]:
    """Return the metadata of a file with these states; nothing if there are none."""
    rows = [{"name": p.name, "in": p.input, "out": p.output, "initial": _told(p.initial)} for p in pairs]
    return {STATES: json.dumps(rows)} if rows else {}


def read_states(
    metadata: Mapping[str, str], inputs: Mapping[str, Type], outputs: Mapping[str, Type]
) -> tuple[StatePair, ...]:
    """Return the states in a file's metadata, with inputs and outputs of these types.

    Raises ParseError for metadata that are no list of states, for states that do not fit the inputs and outputs or one
    another, and for more numbers than this machine has memory.
    """
    if STATES not in metadata:
        return ()
    try:
        rows = json.loads(metadata[STATES])
    except (ValueError, RecursionError) as error:
        raise _error(f"they are no JSON: {error}") from None
    if not isinstance(rows, list):
        raise _error("they are no list")
    for row in rows:
        _check_row(row, inputs, outputs)
    for key in ("name", "in", "out"):
        told = [row[key] for row in rows if row[key] is not None]
        if len(set(told)) < len(told):
            raise _error(f"two states have the same {key!r}")
    _check_memory([inputs[row["in"]] for row in rows])
    return tuple(
        StatePair(row["name"], row["in"], row["out"], _read(row["initial"], inputs[row["in"]], row["name"]))
        for row in rows
    )


def _error(what: str) -> ParseError:
    return ParseError(f"the metadata {STATES} of the file cannot be read: {what}"[:300])


def _check_row(row: Any, inputs: Mapping[str, Type], outputs: Mapping[str, Type]) -> None:
    """Raise ParseError if a row is no state of the model's inputs and outputs."""
    if not isinstance(row, dict) or not {"name", "in", "out", "initial"} <= row.keys():
        raise _error("a state is an object with 'name', 'in', 'out' and 'initial'")
    name, given, next_one = row["name"], row["in"], row["out"]
    if not isinstance(name, str) or not name:
        raise _error(f"the name of a state is a text, not {name!r}")
    if not isinstance(given, str) or given not in inputs:
        raise _error(f"the model has no input {given!r} for the state {name}")
    if next_one is not None and (not isinstance(next_one, str) or next_one not in outputs):
        raise _error(f"the model has no output {next_one!r} for the state {name}")
    own = inputs[given]
    if own.shape is None or not all(isinstance(d, int) for d in own.shape) or own.dtype.hasobject:
        raise _error(f"the state {name} is {own}, and a state is an array of numbers whose sizes are known")
    if next_one is not None and not may_be(outputs[next_one], own):
        raise _error(f"the state {name} is {own}, and its next value {outputs[next_one]}")


def _check_memory(types: Iterable[Type]) -> None:
    """Raise ParseError if states take more memory than the machine has, all together."""
    count = sum(_size(each) * each.dtype.itemsize for each in types)
    if count > memory():
        raise _error(f"the states take {count / 1e9:.3g} GB, which is more than this machine's memory")


def _size(type: Type) -> int:
    return math.prod(_shape(type))


def _shape(type: Type) -> tuple[int, ...]:
    return tuple(int(d) for d in type.shape or ())


def _told(initial: npt.NDArray[Any]) -> Any:
    """Return one number if all elements are equal and JSON has it, else all bytes."""
    first = initial.reshape(-1)[:1] if any(initial.strides) else initial[(slice(0, 1),) * initial.ndim].reshape(-1)[:1]
    is_alike = initial.size > 0 and (not any(initial.strides) or initial.tobytes() == first.tobytes() * initial.size)
    if is_alike and np.isfinite(first[0]):
        return first[0].item()
    return base64.b64encode(initial.astype(initial.dtype.newbyteorder("<")).tobytes()).decode()


def _read(told: Any, type: Type, name: str) -> npt.NDArray[Any]:
    """Return the first value of a state: an array of its own, or a read-only view of one number."""
    if isinstance(told, str):
        return _from_bytes(told, type, name)
    if not isinstance(told, bool | int | float):
        raise _error(f"the state {name} starts as {told!r}, which is no number")
    try:
        number = np.array(told, type.dtype)
    except (ValueError, TypeError, OverflowError):
        number = None
    if number is None or (type.dtype.kind in "iub" and number.item() != told):
        raise _error(f"the state {name} starts as {told!r}, which is no {type.dtype}")
    return np.broadcast_to(number, _shape(type))


def _from_bytes(told: str, type: Type, name: str) -> npt.NDArray[Any]:
    try:
        data = base64.b64decode(told, validate=True)
    except ValueError as error:
        raise _error(f"the first value of the state {name} is no base64: {error}") from None
    if len(data) != _size(type) * type.dtype.itemsize:
        wanted = _size(type) * type.dtype.itemsize
        raise _error(f"the state {name} is {type} of {wanted} bytes, and starts with {len(data)} bytes")
    return np.frombuffer(data, type.dtype.newbyteorder("<")).astype(type.dtype).reshape(_shape(type))
