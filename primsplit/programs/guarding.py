"""Record a guarded function once for each value of a guard, when the value first occurs."""

import functools
import json
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Type
from primsplit.ir.atomic_files import write_whole
from primsplit.ir.errors import SpecError
from primsplit.ir.providers import Provider
from primsplit.ops import op
from primsplit.programs.binding import ARRAY
from primsplit.programs.compiled import BY_BRANCHES, Batched, Compiled
from primsplit.programs.doors import save_models
from primsplit.programs.program import Program
from primsplit.programs.trace_program import check_option, trace_program
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.raising import raise_at_run_time
from primsplit.tracing.control import cond
from primsplit.tracing.functionlike import remade, require_function

Function = Callable[..., Any]


class Guarded(Compiled):
    """A function that is recorded anew for each value of `guard(*args)`, along the path that the arguments take.

    A recording never answers for another path: if its conditions come out otherwise, its run fails. Transforms of a
    guarded function are guarded alike.
    """

    def __init__(self, function: Function, guard: Function | None) -> None:
        super().__init__(function, function, branches="guard")
        if guard is not None:
            require_function(guard)
        self.guard = guard

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function; what it writes to its arguments stays inside of it, in a trace too."""
        if not tracing.is_recording():
            return super().__call__(*args, **named)
        return super().__call__(*trees.owned(args), **trees.owned(named))

    def guard_value(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return the guard's value for these arguments. Raises SpecError if that is not hashable."""
        return BY_BRANCHES if self.guard is None else guard_value(self.guard, args, named)

    def depends_on(self) -> tuple[Any, ...]:
        """Return the function and its guard; not the programs recorded so far."""
        return self.of, self.guard


@remade
def guarded(function: Function, guard: Function | None = None) -> Guarded:
    """Return `function` recorded once for each value of `guard(*args)`, a number, text or tuple of such.

    Called on arrays, or differentiated and called, it evaluates its guard and runs the program recorded for that value:
    the branches that the arguments take are part of the program. A new value makes a recording; `.statistics` counts
    them. Without a guard there is a recording for each way through the branches. Inside a traced function it is the
    function itself. Raises SpecError for a guard that is not a number, text or tuple of such.

    >>> root = ps.guarded(lambda x: np.sqrt(x) if x > 0 else 0.0 * x, lambda x: bool(x > 0))
    >>> [float(ps.grad(root)(x)) for x in (4.0, -1.0)]
    [0.25, 0.0]
    """
    return Guarded(function, guard)


def export_guarded(
    function: Compiled,
    /,
    path: str | os.PathLike[str],
    *,
    form: str = "joint",
    provider: Provider = "cpu",
    target: str | None = None,
) -> list[str]:
    """Write the recordings of a guarded function, or of a transform of one; return the paths written.

    `form="joint"` makes one file that computes the guard, a number or a tuple of numbers, and runs the program of its
    value; it fails for a value that was not recorded. Without a guard the file computes the conditions of the branches,
    and fails at the first that goes a way which no call took. `form="variants"` makes a folder with one file for each
    value of the guard and `index.json`, which lists them. `provider` and `target` are as for `export`. Raises SpecError
    if nothing was recorded, or recordings differ in their arguments.
    """
    check_option("form", form, ("joint", "variants"))
    guard, path = guard_of(function), os.fspath(path)
    recorded = _recorded(function)
    if form == "variants" and guard is None:
        raise SpecError(
            "a function that is recorded by its branches has no values to tell files apart",
            cure='form="joint" is one file of all that was recorded. Or give a guard: ps.guarded(f, guard).',
        )
    if form == "variants":
        return _save_variants(recorded, path, provider, target)
    program = function.program_of_ways() if guard is None else _with_guard(guard, recorded)
    program.save(path, provider, target=target)
    return [path]


def _recorded(target: Compiled) -> "OrderedDict[Any, Program]":
    """Return the programs by the value of the guard, if there is one."""
    if not (isinstance(target, Compiled) and target.is_guarded):
        raise SpecError(
            f"{getattr(target, '__name__', 'the function')} has no guard to put in a file",
            cure="Make it with ps.guarded(f, guard). Or export the function itself, with all its branches.",
        )
    by_branches = guard_of(target) is None
    found = OrderedDict((key if by_branches else key[-1], program) for key, program in target.programs.items())
    if not found:
        raise SpecError(
            "the guarded function has recorded nothing yet", cure="Call it once for each value of its guard."
        )
    first = next(iter(found.values()))
    if any(p.states for p in found.values()):
        raise SpecError(
            "a guarded function that keeps states has no file of its own: each recording may keep others",
            cure="Export the function itself, with all its branches.",
        )
    if any(p.types != first.types or p.arguments != first.arguments for p in target.programs.values()):
        raise SpecError(
            "the guarded function was recorded for arguments of several shapes, dtypes or structures",
            cure="Make another ps.guarded function for each, and call it with arguments of one kind.",
        )
    return found


def guard_of(target: Any) -> Function | None:
    """Return the guard of a guarded function or of a transform of one, as a function of the target's arguments.

    None if it is recorded by its branches, as a batch is.
    """
    if isinstance(target, Guarded):
        return target.guard
    inner = guard_of(target.of) if isinstance(target, Compiled) and not isinstance(target, Batched) else None
    return inner and (lambda *args, **named: inner(*target.own(args), **named))


def guard_value(guard: Function, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """Return the value of the guard as a key. Raises SpecError if that is not possible."""
    found = _plain(guard(*args, **named))
    if not isinstance(found, bool | int | float | str | tuple):
        raise SpecError(
            f"a guard returns a number, a text or a tuple of such, not {type(found).__name__}",
            place=tracing.user_place(),
            cure="Return what the branches depend on, for example x[0] > 1.",
        )
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    if isinstance(value, np.generic | np.ndarray) and np.size(value) == 1:
        return value.item()
    return value


def _save_variants(recorded: Mapping[Any, Program], folder: str, provider: Provider, target: str | None) -> list[str]:
    os.makedirs(folder, exist_ok=True)
    names = {value: f"variant_{i}.onnx" for i, value in enumerate(recorded)}
    programs = {value: program.named.on(provider, target=target) for value, program in recorded.items()}
    index = os.path.join(folder, "index.json")
    save_models([(named, os.path.join(folder, names[value])) for value, named in programs.items()], beside=[index])
    rows = [{"guard": list(v) if isinstance(v, tuple) else v, "file": name} for v, name in names.items()]
    write_whole(index, lambda file: file.write(json.dumps(rows, indent=2).encode()))
    return [*(os.path.join(folder, name) for name in names.values()), index]


def _with_guard(guard: Function, recorded: Mapping[Any, Program]) -> Program:
    """Return one program that computes the guard and runs the recording of its value."""
    first = next(iter(recorded.values()))
    values = list(recorded)

    def whole(*leaves: Any) -> Any:
        arrays = iter(leaves)
        args, named = trees.unflatten(first.arguments, [next(arrays) if s is ARRAY else s for s in first.static])
        return _chosen(guard(*args, **named), values, recorded, args, named)

    program = trace_program(whole, first.types, {}, name=first.block.name)
    return Program(
        program.block,
        inputs=first.inputs,
        outputs=first.outputs,
        arguments=first.arguments,
        result=first.result,
        static=first.static,
    )


def _chosen(now: Any, values: Sequence[Any], recorded: Mapping[Any, Program], args: Any, named: Any) -> Any:
    """Return the result of the program for the guard's value, tried one after the other.

    If none fits, fail at run time.
    """
    value, rest = values[0], values[1:]
    is_it = _is_equal(now, value)

    def this() -> Any:
        return recorded[value](*args, **named)

    def others() -> Any:
        if rest:
            return _chosen(now, rest, recorded, args, named)
        types = [Type(r.type.dtype, r.type.shape) for r in recorded[value].block.results]
        told = "raises ValueError: the guard has a value that was not recorded"
        made = raise_at_run_time(is_it.value, types, None, told)
        return trees.unflatten(recorded[value].result, [Array(v) for v in made])

    return cond(is_it, this, others)


def _is_equal(now: Any, value: Any) -> Array:
    """Return whether the guard has this value in the run. Raises SpecError for a text."""
    if isinstance(value, tuple):
        is_alike = isinstance(now, tuple | list) and len(now) == len(value)
        parts = [_is_equal(n, v) for n, v in zip(now, value, strict=True)] if is_alike else []
        return functools.reduce(op.And, parts, as_array(np.asarray(is_alike)))
    if isinstance(now, str) or isinstance(value, str):
        raise SpecError("a guard that is a text has no place in one file", cure='Export it with form="variants".')
    array = as_array(now)
    found: Array = op.Equal(op.Reshape(array, np.zeros(0, np.int64)), np.asarray(value, array.dtype))
    return found
