"""`primsplit audit`: lists what a file holds, for a person to check: the mathematics of all of its nodes."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.text import Text

from primsplit.audit.computed_numbers import computed_numbers
from primsplit.audit.drawn import drawn_values
from primsplit.audit.frozen import frozen_values, literal_values
from primsplit.audit.origins import URGENT
from primsplit.audit.report import report
from primsplit.cli import options
from primsplit.cli.audit_check import Check, check_listing
from primsplit.cli.audit_questions import Asked, Questions, answer
from primsplit.cli.audit_tables import show_branches, show_file, show_frozen, show_recomputed, show_rules, show_split
from primsplit.cli.audited import files_of_listing, write_listing
from primsplit.cli.failures import command
from primsplit.cli.groups import said_in
from primsplit.cli.late import (
    constant_rows,
    json_reports,
    keep_model,
    keep_program,
    list_files,
    mathematics,
    read_written,
    report_files,
    rules_used,
    schema_text,
    unused_rules,
)
from primsplit.cli.loaded import LoadedModel, Subject, read_subject
from primsplit.cli.output import console, print_json, print_page, print_text
from primsplit.cli.overwriting import keep_apart
from primsplit.ir.errors import PrimsplitError, SpecError
from primsplit.programs.api import SplitProgram


class Style(StrEnum):
    """The format of a listing."""

    MATH = "math"
    TEXT = "text"
    PYTHON = "python"
    HTML = "html"
    NUMPY = "numpy"


class Stage(StrEnum):
    """Which program is listed, on the way from a function to a file."""

    RECORDED = "recorded"
    SPLIT = "split"
    FILE = "file"


def _schema(wanted: bool) -> None:
    if wanted:
        print_text(schema_text())
        raise typer.Exit


@command
def audit(
    target: options.TargetOrModel,
    *,
    asked: options.FunctionDerivation,
    model: options.ModelOptions,
    writing: options.Writing,
    stage: Annotated[
        Stage,
        typer.Option(
            "--stage",
            help="The file that is written; the forward and backward pass before they are optimized; or the function "
            "as it was recorded.",
            **options.one_of(Stage),
        ),
    ] = Stage.FILE,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="Only the values that the trace froze: what the function read elsewhere.")
    ] = False,
    rules: Annotated[
        bool,
        typer.Option("--rules", help="Only the rules that made nodes of the file, and rules of yours that made none."),
    ] = False,
    questions: Questions,
    style: Annotated[
        Style | None,
        typer.Option(
            "--style",
            help="Only the listing: as mathematics, a node a line as text, as Python that traces to it, as a page of "
            "HTML, or as a module of NumPy that computes the same.",
            **options.one_of(Style),
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="The mathematics with what only moves shapes, and each side of a choice.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Write the listing to this file: without --style, .html is a page, .json the report, .py a module of "
            "NumPy, whose large arrays are in an .npz beside it.",
        ),
    ] = None,
    check: Check = None,
    schema: Annotated[
        bool,
        typer.Option("--schema", help="Print the JSON schema of what --json prints.", callback=_schema, is_eager=True),
    ] = False,
    json: options.Json = False,
) -> None:
    """List the ONNX file that `primsplit export` writes with these options, or an ONNX file, as mathematics.

    Each node is in one statement, under the line that it comes from, or only moves shapes, which is counted at the end;
    --style text lists a node a line. Below are the values that the backward pass reads from the forward pass, the
    states that calls hand on, and the constants; of a Python file also the values from outside that are frozen into the
    program.

    An ONNX file is listed as it is. To list its gradient, say --stage split, or list what `primsplit grad` writes.
    """
    alone = {
        "frozen": frozen,
        "rules": rules,
        questions.first or "question": bool(questions),
        "check": check is not None,
        "style": style is not None and check is None,
    }
    if everything and not json and not any(alone.values()):
        style = Style.MATH
    refuse_together(alone, stage, style, is_file=output is not None, json=json)
    if everything and (style is not Style.MATH or stage is not Stage.FILE):
        raise SpecError("--all is for the mathematics of a file", cure="Say --style math with it.")
    keep_apart("--output", output, target.partition(":")[0])
    written = files_of_listing(output, None if style is None else style.value)
    show = Showing(style, output, check, frozen=frozen, everything=everything, json=json)
    if target.endswith(".onnx") and stage is Stage.FILE:
        refuse_derivative(asked, writing)
        keep_model(written, target)
        file = read_written(target)
        if rules:
            show_rules(rules_used([file]), [], json=json)
            return
        if questions:
            with tempfile.TemporaryDirectory() as folder:
                answer(questions, Asked([target], [file]), folder, json=json)
            return
        drawn = [f.as_dict() for f in drawn_values(file.block, file.names)]
        rows = {"frozen": [*drawn, *constant_rows(file)]} if frozen else {}
        show.files([file], {**rows, "frozen_branches": _frozen_branches(file, model)})
        return
    made = read_subject(target, asked, model, quiet=json)
    if stage is not Stage.FILE:
        show.stage(made, stage)
        return
    keep_program(written, made.read, lambda: made.recorded)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"{os.path.splitext(os.path.basename(made.path))[0]}.onnx")
        paths = writing.save(made.derived, path, made.mode)
        files = [*map(read_written, paths)]
        if rules:
            used = rules_used(files, made.recorded.block)
            scope = {} if isinstance(made, LoadedModel) else getattr(made.file.function, "__globals__", {})
            show_rules(used, unused_rules(used, scope), json=json)
            return
        if questions:
            answer(questions, Asked(paths, files, made), folder, json=json)
            return
        again = made.derived.recomputed_table() if isinstance(made.derived, SplitProgram) else []
        show.files(files, {"recomputed": again, "frozen": _frozen(made, alone=frozen)})


def refuse_together(asked: Mapping[str, bool], stage: Stage, style: Style | None, *, is_file: bool, json: bool) -> None:
    """Raise SpecError for options that exclude each other. Of those in `asked` one may be said, by its name."""
    said = [name for name, is_said in asked.items() if is_said]
    if len(said) > 1:
        raise SpecError(
            f"--{said[0]} and --{said[1]} both ask for an answer that stands alone", cure="Say one of them."
        )
    if said and not {*said} <= {"frozen", "style"} and stage is not Stage.FILE:
        raise SpecError(f"--{said[0]} tells of the nodes of a file, and not of another stage")
    if is_file and (not {*said} <= {"style"} or json or stage is not Stage.FILE):
        raise SpecError("--output is for the listing of a file", cure="Say --style and --output alone.")
    if style in {Style.NUMPY, Style.MATH} and stage is not Stage.FILE:
        raise SpecError(f"--style {style} is for a file, and not for another stage")


def refuse_derivative(*groups: options.Derivation | options.Writing) -> None:
    """Raise SpecError if an option asks for a derivative, or another way to write it, of a file that is listed."""
    for option in (option for group in groups for option in said_in(group)):
        raise SpecError(
            f"{option} is for a derivative, and an ONNX file is listed as it is",
            cure="Say --stage split for its gradient, or write that with primsplit grad, and list its file.",
        )


def _frozen_branches(file: Any, model: options.ModelOptions) -> list[dict[str, Any]]:
    """Return the choices by constants alone of a model from elsewhere, if it can be loaded."""
    if file.is_ours or not any(op.kind in {"If", "Loop"} for op in file.ops()):
        return []
    try:
        return [branch.as_dict() for branch in model.load(file.path).frozen_branches]
    except PrimsplitError:
        return []


def _frozen(made: Subject, *, alone: bool) -> list[dict[str, Any]]:
    """Return what a program holds from outside; with all numbers of its lines if it is shown alone."""
    drawn = [*drawn_values(made.recorded.block)]
    if isinstance(made, LoadedModel):
        return [*(f.as_dict() for f in drawn), *made.frozen()]
    found = frozen_values(made.recorded, made.file.function)
    numbers = computed_numbers(made.recorded, found)
    drawn += [f for f in numbers if f.origin in URGENT]
    rest = [*(f for f in numbers if f.origin not in URGENT), *literal_values(made.recorded)]
    return [f.as_dict() for f in (*drawn, *found, *(rest if alone else ()))]


class Showing:
    """Prints what was asked for: a listing alone, the frozen values alone, or all; as JSON if requested."""

    def __init__(
        self, style: Style | None, output: str | None, check: str | None, *, frozen: bool, everything: bool, json: bool
    ) -> None:
        self.style = style
        self.output = output
        self.check = check
        self.everything = everything
        self.frozen = frozen
        self.json = json

    def files(self, files: Sequence[Any], beside: dict[str, Any]) -> None:
        """Print the listing of files, and what they do not tell themselves."""
        if self.check is not None:
            check_listing(self.check, files, None if self.style is None else self.style.value, json=self.json)
            return
        if self.output is not None:
            write_listing(self.output, files, None if self.style is None else self.style.value)
            return
        if self.style is not None:
            text = list_files(files, self.style.value, everything=self.everything)
            _show_listing(text, self.style, json=self.json)
            return
        reports = json_reports(files) if self.json and not self.frozen else report_files(files)
        found = {"stage": Stage.FILE.value, "files": reports, **beside}
        if not self.json and not self.frozen:
            for file, text in zip(found["files"], mathematics(files), strict=True):
                show_file(file, text)
            if found.get("recomputed"):
                show_recomputed(found["recomputed"])
        self.rest(found)

    def stage(self, made: Subject, stage: Stage) -> None:
        """Print a program before it is written."""
        program = made.recorded if stage is Stage.RECORDED else made.derived
        if self.style is not None:
            _show_listing(program.listing(self.style.value), self.style, json=self.json)
            return
        found: dict[str, Any] = {"stage": stage.value, "listing": program.listing()}
        if isinstance(program, SplitProgram):
            found.update(report(program))
        found["frozen"] = _frozen(made, alone=self.frozen)
        if isinstance(made, LoadedModel):
            found["frozen_branches"] = [branch.as_dict() for branch in made.model.frozen_branches]
        if not self.json and not self.frozen:
            if isinstance(program, SplitProgram):
                show_split(found)
            else:
                console().print(Text(found["listing"]), soft_wrap=True)
        self.rest(found)

    def rest(self, found: dict[str, Any]) -> None:
        """Print all as JSON, or the frozen values and branches."""
        if self.json:
            print_json(found["frozen"] if self.frozen else found)
            return
        if "frozen" in found:
            show_frozen(found["frozen"])
        if found.get("frozen_branches"):
            show_branches(found["frozen_branches"])


def _show_listing(text: str, style: Style, *, json: bool) -> None:
    if json:
        print_json({"style": style.value, "listing": text})
    elif style is Style.HTML:
        print_page(text)
    else:
        print_text(text)
