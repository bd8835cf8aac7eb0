"""Write the files of a derivative with two passes, a forward pass and a second one: one graph, two, or functions."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol, get_args

import numpy as np

from primsplit.ir import Type, Var
from primsplit.ir.errors import SpecError
from primsplit.ir.names import NamedBlock, Names
from primsplit.ir.providers import GivenAs, Provenance, Provider
from primsplit.programs.doors import save_functions, save_models
from primsplit.programs.program import Program

Form = Literal["joint", "split", "functions"]
FORMS: tuple[str, ...] = get_args(Form)


class TwoPasses(Protocol):
    """A program with two passes, such as a split."""

    program: Program
    second_file: str
    second_function: str

    def joint(self) -> Program:
        """Return both as one program."""

    def passes(self) -> tuple[Program, Program]:
        """Return the two: the second takes results of the first, by name."""


def save_in_form(
    made: TwoPasses,
    path: str,
    form: Form,
    provider: Provider,
    weights: GivenAs,
    target: str | None,
    provenance: Provenance,
) -> list[str]:
    """Write both passes; return the paths.

    "joint" is one graph; "split" the files `<stem>.forward.onnx` and `<stem>.<second file>.onnx`, which appear together
    or not at all; "functions" one file that calls the functions `<name>` and `<name>__<second function>`, whose name is
    "forward" with the provenance "none"; then captures are `capture`, `capture_1`, whatever the user calls them. Raises
    FileError, and SpecError for another form, provider, target, way to take weights or provenance.
    """
    if not isinstance(form, str) or form not in FORMS:
        raise SpecError(f"there is no form {form!r}", cure=f"The forms are {', '.join(FORMS)}.")
    if form == "joint":
        made.joint().save(path, provider, weights, target, provenance)
        return [path]
    first, second = (program.named.on(provider, weights, target, provenance) for program in made.passes())
    if provenance == "none":
        first, second = _with_plain_captures(first, second, made.program.outputs)
    if form == "split":
        stem = os.path.splitext(path)[0]
        paths = [f"{stem}.forward.onnx", f"{stem}.{made.second_file}.onnx"]
        save_models([(first, paths[0]), (second, paths[1])], made.program.named)
        return paths
    name = "forward" if provenance == "none" else made.program.block.name
    functions = {name: first, f"{name}__{made.second_function}": second}
    save_functions(made.joint().named.on(provider, weights, target, provenance), functions, path)
    return [path]


def _with_plain_captures(
    first: NamedBlock, second: NamedBlock, outputs: Sequence[str]
) -> tuple[NamedBlock, NamedBlock]:
    """Return both passes with names for captures that tell nothing of the user's variables."""
    captures = [name for name in first.outputs if name not in outputs]
    taken = {*first.inputs, *outputs, *second.inputs, *second.outputs}.difference(captures)
    names = Names(taken)
    plain = {name: names.give(Var(Type(np.bool_, ())), "capture") for name in captures}
    renamed = replace(second, inputs=tuple(plain.get(n, n) for n in second.inputs))
    return replace(first, outputs=tuple(plain.get(n, n) for n in first.outputs)), renamed
