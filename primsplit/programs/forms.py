"""Write the files of a derivative with two passes, a forward pass and a second one: one graph, two, or functions."""

import os
from typing import Literal, Protocol, get_args

from primsplit.ir.errors import SpecError
from primsplit.ir.providers import GivenAs, Provider
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
    made: TwoPasses, path: str, form: Form, provider: Provider, weights: GivenAs, target: str | None
) -> list[str]:
    """Write both passes; return the paths.

    "joint" is one graph; "split" the files `<stem>.forward.onnx` and `<stem>.<second file>.onnx`, which appear together
    or not at all; "functions" one file that calls the functions `<name>` and `<name>__<second function>`. Raises
    FileError, and SpecError for another form, provider, target or way to take weights.
    """
    if not isinstance(form, str) or form not in FORMS:
        raise SpecError(f"there is no form {form!r}", cure=f"The forms are {', '.join(FORMS)}.")
    if form == "joint":
        made.joint().save(path, provider, weights, target)
        return [path]
    first, second = (program.named.on(provider, weights, target) for program in made.passes())
    if form == "split":
        stem = os.path.splitext(path)[0]
        paths = [f"{stem}.forward.onnx", f"{stem}.{made.second_file}.onnx"]
        save_models([(first, paths[0]), (second, paths[1])], made.program.named)
        return paths
    name = made.program.block.name
    functions = {name: first, f"{name}__{made.second_function}": second}
    save_functions(made.joint().named.on(provider, weights, target), functions, path)
    return [path]
