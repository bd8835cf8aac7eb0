"""Find the inputs and results of a program that `wrt` and `of` name."""

import reprlib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from textwrap import shorten
from typing import Any

from primsplit.ir import Const, Var, walk
from primsplit.ir.errors import SpecError
from primsplit.ir.names import variables
from primsplit.programs.binding import ARRAY
from primsplit.programs.program import Program

Wrt = int | str | Sequence[int | str] | None


def with_asked_params(program: Program, wrt: Wrt) -> Program:
    """Return the program with the initializers that `wrt` names as inputs.

    `params` names all floating-point weights.
    """
    asked = _asked(wrt, "wrt")
    if "params" in asked and "params" not in program.inputs:
        asked += [n for n, value in program.initializers.items() if value.type.is_float and n not in program.constants]
    told = [name for key in asked for name in (key, f"{key}.real", f"{key}.imag") if isinstance(name, str)]
    names = [name for name in told if name in program.initializers]
    return program.with_inputs(names) if names else program


def _asked(said: Any, what: str) -> list[int | str]:
    """Return the names and positions in `wrt` or `of`. Raises SpecError for anything else."""
    given = [said] if isinstance(said, int | str) or not isinstance(said, Iterable) else said
    keys = [] if said is None or getattr(said, "shape", None) == () else list(given)
    for key in keys:
        if not isinstance(key, int | str):
            raise SpecError(f"{what}={reprlib.repr(key)} is neither a name nor a position")
    return keys


def select_inputs(program: Program, wrt: Wrt) -> list[int]:
    """Return the positions of the floating-point inputs that `wrt` names; see `split`. Raises SpecError."""
    types = program.types
    if wrt is None:
        return [i for i in program.given if types[i].is_float]
    chosen: list[int] = []
    leaves = (p for p, s in zip(program.arguments.paths(), program.static, strict=True) if s is ARRAY)
    found_at = dict(zip(program.given, leaves, strict=True))
    paths = [found_at.get(i, ()) for i in range(len(types))]
    for key in _asked(wrt, "wrt"):
        found = [
            i
            for i, (path, name) in enumerate(zip(paths, program.inputs, strict=True))
            if (isinstance(key, int) and path[:2] == (0, key))
            or (isinstance(key, str) and (name == key or name.startswith(f"{key}.")))
            or (key == "params" and name in program.defaults)
        ]
        floats = [i for i in found if types[i].is_float]
        if not floats:
            raise _not_found(program, key) if not found else _without_derivative(program, key, found)
        chosen.extend(floats)
    return sorted(set(chosen))


def _not_found(program: Program, key: int | str) -> SpecError:
    """Return the error for a `wrt` that names no input."""
    inside = _computed(program, key)
    if inside is not None and not inside.type.is_float:
        what = f"wrt={key!r} is computed inside of the model, of {inside.type.dtype}, which has no derivative"
        return SpecError(what, because=_differentiable(program))
    if inside is None and _is_held_inside(program, key):
        return SpecError(
            f"wrt={key!r} is a number that a branch, a loop's body or a function of the model holds",
            because=_differentiable(program),
            cure=f"Move {key} to the initializers of the model's own graph: a body reads them by name.",
        )
    because = [f"the inputs are {', '.join(program.inputs)}"]
    if key == "params":
        told = program.float_constants
        kind = "weights" if told else "initializers"
        because.append(f"it would be all {kind} that are floating point, and there are none")
        because += [f"{name}: {why}" for name, why in islice(told.items(), 4)]
    elif program.initializers:
        because.append(f"the initializers are {shorten(', '.join(program.initializers), 300)}")
    names = [*program.inputs, *program.initializers]
    return SpecError(f"wrt={key!r} is no input", because=tuple(because), cure=_nearest(program, key, names))


def _without_derivative(program: Program, key: int | str, found: Sequence[int]) -> SpecError:
    """Return the error for a `wrt` whose inputs, at these positions, are all integers, bools or texts."""
    kinds = sorted({str(program.types[i].dtype) for i in found})
    what = "initializer" if {program.inputs[i] for i in found} <= program.defaults.keys() else "input"
    return SpecError(
        f"wrt={key!r} is an {what} of {' and '.join(kinds)}, which has no derivative", because=_differentiable(program)
    )


def _differentiable(program: Program) -> tuple[str, ...]:
    """Return lines that tell the inputs and initializers that have a derivative."""
    inputs = [n for n, t in zip(program.inputs, program.types, strict=True) if t.is_float and n not in program.defaults]
    weights = [n for n, value in {**program.defaults, **program.initializers}.items() if value.type.is_float]
    others = [
        f"the {told} of floating point are {shorten(', '.join(names), 300)}"
        for told, names in (("inputs", inputs), ("initializers", weights))
        if names
    ]
    return tuple(others) or ("nothing here is floating point",)


def _computed(program: Program, key: int | str) -> Var | None:
    """Return the value of this name that a model computes, if there is one."""
    if not program.initializers or key in program.inputs or key in program.initializers:
        return None
    return next((var for var in variables(program.block) if var.hint == key), None)


def _is_held_inside(program: Program, key: int | str) -> bool:
    """Whether a constant of a loaded model that is none of its initializers has this name."""
    is_known = not isinstance(key, str) or not key or key in program.inputs or key in program.initializers
    held = (v for op in walk(program.block) for v in op.inputs if isinstance(v, Const))
    return not is_known and any(const.hint == key for const in held)


def _nearest(program: Program, key: int | str, names: Sequence[str]) -> str | tuple[str, ...]:
    """Return what to ask for instead of an unknown name: the nearest of the known ones, or a part of the model."""
    if _computed(program, key) is not None:
        return (
            f"{key} is computed inside of the model. A part of it has that as an input or output:",
            "onnx.utils.extract_model(path, part, inputs, outputs)",
        )
    near = get_close_matches(str(key), names, n=1)
    return f"The nearest name is {near[0]}." if near else ""


def _places(program: Program, key: int | str) -> list[int | str]:
    """Return the positions of the results with this name in `of`: one, or both parts of a complex one.

    Else the key itself.
    """
    found = [i for i, name in enumerate(program.outputs) if name in {key, f"{key}.real", f"{key}.imag"}]
    return [*found] if isinstance(key, str) and found else [key]


def select_results(program: Program, of: Any) -> list[int]:
    """Return the positions of the floating-point results that `of` names; see `split`. Raises SpecError."""
    types = [r.type for r in program.block.results]
    if of is None:
        floats = [i for i in program.returned if types[i].is_float]
        if not floats:
            raise SpecError(
                "no result is floating point, so there is nothing to differentiate",
                because=(f"{program.block.name} returns {', '.join(map(str, types)) or 'nothing'}",),
            )
        return floats
    positions = [place for key in _asked(of, "of") for place in _places(program, key)]
    for key in positions:
        if not isinstance(key, int) or not 0 <= key < len(types):
            what = "an input, no result" if key in program.inputs else "no result"
            results = shorten(", ".join(program.outputs), 300)
            cure = _nearest(program, key, program.outputs)
            raise SpecError(f"of={key!r} is {what}", because=(f"the results are {results}",), cure=cure)
        if not types[key].is_float:
            raise SpecError(f"of={program.outputs[key]!r} is {types[key].dtype}, which has no gradient")
    return [k for k in positions if isinstance(k, int)]
