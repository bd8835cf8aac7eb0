"""Keeps the state of a program from one run to the next in the .npz file of `--state`."""

import os
from collections.abc import Mapping, Sequence

from primsplit.cli.array_files import write_npz
from primsplit.cli.arrays import Arrays, as_declared, as_stored, read_arrays
from primsplit.ir import Type
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.errors import SpecError
from primsplit.ir.names import StatePair
from primsplit.tracing.specs import check_array


def read_states(pairs: Sequence[StatePair], path: str | None) -> Arrays:
    """The states by the names of their inputs: those of the file if it exists, else their first values.

    Raises SpecError for a program without states and for an unknown name, DtypeError or ShapeError for an array that
    does not fit, FileError for a file that cannot be read.
    """
    if path is not None and not pairs:
        raise SpecError("--state is for a program that keeps states, and this one keeps none")
    if path is not None and not path.endswith(".npz"):
        raise SpecError(f"--state {path} must be an .npz")
    known = read_arrays(path, []) if path is not None and os.path.exists(path) else {}
    names = [pair.name for pair in pairs]
    if unknown := [name for name in known if name not in names]:
        told = f"the states are {', '.join(names)}"
        raise SpecError(f"{path} holds {unknown[0]}, which is no state", because=(told,))
    found: Arrays = {}
    for pair in pairs:
        array = as_declared(known.get(pair.name, pair.initial), pair.initial.dtype)
        check_array(array, f"the state {pair.name}", Type(pair.initial.dtype, pair.initial.shape), {})
        found[pair.input] = array
    return found


def write_states(pairs: Sequence[StatePair], path: str, before: Arrays, outputs: Arrays) -> None:
    """Write the states after a run, completely or not at all. Raises FileError."""
    after: Mapping[str, StatePair] = {pair.name: pair for pair in pairs}
    arrays = {n: as_stored(before[p.input] if p.output is None else outputs[p.output]) for n, p in after.items()}
    write_whole(path, lambda file: write_npz(file, arrays))
