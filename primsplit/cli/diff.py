"""`primsplit diff`: compares two files, or what two Python files export, statement by statement and by numbers."""

import os
import tempfile
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from primsplit.cli import options
from primsplit.cli.arrays import Arrays
from primsplit.cli.diff_numbers import Numbers, Side, arrays_given
from primsplit.cli.diff_pages import as_markdown, show
from primsplit.cli.failures import NotRightError, failing_with
from primsplit.cli.inputs import examples
from primsplit.cli.late import diff_schema_text, difference, read_written
from primsplit.cli.options import Exported, progress
from primsplit.cli.output import print_json, print_text
from primsplit.ir.errors import SpecError
from primsplit.programs.export import save_derived
from primsplit.programs.forms import Form


class Style(StrEnum):
    """The format of a comparison."""

    TEXT = "text"
    MARKDOWN = "markdown"


def _schema(wanted: bool) -> None:
    if wanted:
        print_text(diff_schema_text())
        raise typer.Exit


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
    form: options.Form = options.FormName.JOINT,
    dtype: options.Dtype = None,
    style: Annotated[
        Style,
        typer.Option("--style", help="Text for a terminal, or Markdown for a pull request.", **options.one_of(Style)),
    ] = Style.TEXT,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON schema of what --json prints.", callback=_schema, is_eager=True),
    ] = False,
    json: options.Json = False,
) -> None:
    """Compare two files: the statements that were added, removed or changed, arrays, inputs and outputs, and numbers.

    A Python file is exported first, with what it declares and with these options; two files of a derivative are
    compared one by one. Numbers of lines, names of temporaries and the order of independent nodes are no difference.

    The exit status is 0 if both compute the same, 1 if they differ, 2 if they cannot be compared.
    """
    if not run and samples is not None:
        raise SpecError("--samples is for outputs, and --no-run compares none")
    asked = options.FunctionDerivation(spec=spec, wrt=wrt, of=of, mode=mode, dtype=dtype)
    with tempfile.TemporaryDirectory() as folder:
        old, new = (
            _side(t, os.path.join(folder, n), asked, form.value, quiet=json)
            for t, n in ((before, "old"), (after, "new"))
        )
        if len(old.files) != len(new.files):
            counts = (f"{t} is {len(s.files)} file{'s' * (len(s.files) > 1)}" for t, s in ((before, old), (after, new)))
            raise SpecError(" and ".join(counts), cure="Compare the files of one with those of the other, one by one.")
        compared = [difference(a, b) for a, b in zip(old.files, new.files, strict=True)]
        given = None if samples is None else arrays_given(samples, (old, new))
        by_numbers = Numbers(old, new, given)
        numbers = [by_numbers.of(i) if run else None for i in range(len(compared))]
    is_same = all(each.is_same for each in compared)
    if json:
        rows = [{**each.as_dict(), "numbers": own} for each, own in zip(compared, numbers, strict=True)]
        print_json({"same": is_same, "comparisons": rows})
    elif style is Style.MARKDOWN:
        pages = (as_markdown(c, n, whole=whole, nodes=nodes) for c, n in zip(compared, numbers, strict=True))
        print_text("\n\n".join(pages))
    else:
        for each, own in zip(compared, numbers, strict=True):
            show(each, own, whole=whole, nodes=nodes)
    if not is_same:
        raise NotRightError


def _side(target: str, folder: str, asked: options.FunctionDerivation, form: Form, *, quiet: bool) -> Side:
    """Return the files of a target, after the export of a Python file to the folder."""
    if target.endswith(".onnx"):
        return Side((target,), (read_written(target),), {})
    made = Exported(target, asked, quiet=quiet)
    os.mkdir(folder)
    path = os.path.join(folder, f"{os.path.splitext(os.path.basename(made.path))[0]}.onnx")
    with progress(f"writing {path}", quiet=quiet):
        paths = save_derived(made.derived, path, made.mode, form)
    known: Arrays = {} if made.arguments.drawn else examples(made.derived, made.arguments.values)
    names = [target] if len(paths) == 1 else [f"{target} ({os.path.basename(p)})" for p in paths]
    files = tuple(replace(read_written(p), path=name) for p, name in zip(paths, names, strict=True))
    return Side(tuple(paths), files, known)
