"""`primsplit diff`: compares two files, or what two Python files export, statement by statement and by numbers."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from primsplit.cli import options
from primsplit.cli.arrays import Arrays, read_arrays
from primsplit.cli.diff_pages import as_markdown, show
from primsplit.cli.failures import NotRightError, failing_with
from primsplit.cli.inputs import arrays_for, examples
from primsplit.cli.late import compare_outputs, difference, open_file, read_written
from primsplit.cli.options import Exported, progress
from primsplit.cli.output import print_json, print_text
from primsplit.ir.errors import PrimsplitError, SpecError
from primsplit.programs.export import save_derived


class Style(StrEnum):
    """The format of a comparison."""

    TEXT = "text"
    MARKDOWN = "markdown"


DRAWS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("random, seed 0", {"seed": 0}, False),
    ("random, seed 1, sizes of 1", {"seed": 1, "size": 1}, False),
    ("random, seed 2, sizes of 7, from -2 to 2", {"seed": 2, "size": 7}, True),
)
"""The samples that are drawn: the label, how, and whether floating-point inputs are of both signs."""


@failing_with(2)
def diff(
    before: Annotated[str, typer.Argument(metavar="OLD", help="An ONNX file, a Python file, or a function of one.")],
    after: Annotated[str, typer.Argument(metavar="NEW", help="The file that it is compared with.")],
    *,
    samples: Annotated[
        str | None,
        typer.Option(
            "--samples",
            metavar="PATH",
            help="An .npz of inputs to compare the outputs at, instead of example_inputs() and random ones.",
        ),
    ] = None,
    run: Annotated[bool, typer.Option("--run/--no-run", help="Compare outputs by numbers too.")] = True,
    whole: Annotated[
        bool, typer.Option("--all", help="Show long branches and loops whole that are in one file alone.")
    ] = False,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="List the nodes of the files that differ, instead of mathematics.")
    ] = False,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    of: options.Of = None,
    mode: options.Mode = None,
    dtype: options.Dtype = None,
    style: Annotated[
        Style,
        typer.Option("--style", help="Text for a terminal, or Markdown for a pull request.", **options.one_of(Style)),
    ] = Style.TEXT,
    json: options.Json = False,
) -> None:
    """Compare two files: the statements that were added, removed or changed, arrays, inputs and outputs, and numbers.

    A Python file is exported first, with what it declares and with these options. Numbers of lines, names of
    temporaries and the order of independent nodes are no difference.

    The exit status is 0 if both compute the same, 1 if they differ, 2 if they cannot be compared.
    """
    if not run and samples is not None:
        raise SpecError("--samples is for outputs, and --no-run compares none")
    asked: dict[str, Any] = {"spec": spec, "wrt": wrt, "of": of, "mode": mode, "dtype": dtype}
    with tempfile.TemporaryDirectory() as folder:
        sides = [_side(t, os.path.join(folder, n), asked, quiet=json) for t, n in ((before, "old"), (after, "new"))]
        compared = difference(*(side.file for side in sides))
        numbers = _numbers(sides[0], sides[1], samples) if run else None
    answer = {**compared.as_dict(), "numbers": numbers}
    if json:
        print_json(answer)
    elif style is Style.MARKDOWN:
        print_text(as_markdown(compared, numbers, whole=whole, nodes=nodes))
    else:
        show(compared, numbers, whole=whole, nodes=nodes)
    if not compared.is_same:
        raise NotRightError


@dataclass(frozen=True, slots=True)
class Compared:
    """A file that is compared: where it lies, what was read of it, and the example inputs of a Python file."""

    path: str
    file: Any
    known: Arrays


def _side(target: str, folder: str, asked: dict[str, Any], *, quiet: bool) -> Compared:
    """Return a file, after the export of a Python file to the folder."""
    if target.endswith(".onnx"):
        return Compared(target, read_written(target), {})
    made = Exported(
        target, asked["spec"], asked["wrt"], asked["dtype"], quiet=quiet, mode=asked["mode"], of=asked["of"]
    )
    os.mkdir(folder)
    path = os.path.join(folder, f"{os.path.splitext(os.path.basename(made.path))[0]}.onnx")
    with progress(f"writing {path}", quiet=quiet):
        paths = save_derived(made.derived, path, made.mode, "joint")
    if len(paths) > 1:
        raise SpecError(f"{target} is written as two files", cure="Compare what primsplit export writes, one by one.")
    known: Arrays = {} if made.arguments.drawn else examples(made.derived, made.arguments.values)
    return Compared(path, replace(read_written(path), path=target), known)


def _numbers(before: Compared, after: Compared, path: str | None) -> dict[str, Any]:
    """Return the differences of outputs, or why there are none: `notes`."""
    try:
        first, second = open_file(before.path), open_file(after.path)
        return compare_outputs(first, second, _samples(before, after, (first, second), path))
    except PrimsplitError as error:
        return {"outputs": [], "samples": [], "notes": [error.what]}


def _samples(
    before: Compared, after: Compared, opened: tuple[Any, Any], path: str | None
) -> Iterator[tuple[str, Arrays, Arrays]]:
    """Yield samples: what they are, and the inputs of both files. Those of one name are the same arrays."""

    def both(label: str, known: Arrays, **drawing: Any) -> tuple[str, Arrays, Arrays]:
        first = arrays_for(opened[0], before.file.block, known, **drawing)
        types = opened[1].inputs
        shared = {n: a.astype(types[n].dtype) for n, a in {**known, **first}.items() if n in types}
        return label, first, arrays_for(opened[1], after.file.block, shared, **drawing)

    if path is not None:
        yield both(os.path.basename(path), read_arrays(path, [*{**opened[0].inputs, **opened[1].inputs}]))
        return
    known = {**after.known, **before.known}
    if known:
        yield both("the examples", known)
    for label, drawing, is_signed in DRAWS:
        floats = [n for n, t in opened[0].inputs.items() if t.dtype.kind == "f"]
        ranges = {"ranges": dict.fromkeys(floats, (-2.0, 2.0))} if is_signed else {}
        yield both(label, {}, **drawing, **ranges)
