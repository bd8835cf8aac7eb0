"""Ask a written file the questions of an auditor: options of `primsplit audit`, answers as tables or JSON."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import ml_dtypes
import typer
from rich.text import Text

from primsplit.cli.arrays import Arrays
from primsplit.cli.audit_tables import heading
from primsplit.cli.failures import NotRightError
from primsplit.cli.inputs import arrays_for, examples
from primsplit.cli.late import bound_rows, hazard_rows, linearity, numeric_rows, open_file, read_written, zero_rows
from primsplit.cli.loaded import LoadedModel, Subject
from primsplit.cli.options import read_ranges
from primsplit.cli.output import console, print_json, table
from primsplit.ir import Block, Value
from primsplit.ir.errors import RunError, SpecError
from primsplit.programs.api import SplitProgram
from primsplit.programs.export import Derived, save_derived
from primsplit.tracing.own_errors import own_errors

Linear = Annotated[
    bool,
    typer.Option(
        "--linear", help="Only a proof that each gradient is linear in the cotangents, and a check by random numbers."
    ),
]
Zero = Annotated[
    bool,
    typer.Option(
        "--zero", help="Only what has no influence on results or derivatives, and the nodes that cut its path."
    ),
]
Numerics = Annotated[
    str | None,
    typer.Option(
        "--numerics",
        metavar="PATH",
        help="Only the range of each value, where NaN and infinity begin, and the distance from float64, at the arrays "
        "of an .npz; 'examples' for those of a Python file.",
    ),
]
Hazards = Annotated[
    bool,
    typer.Option(
        "--hazards",
        help="Only the places where 0/0, a logarithm or root of a negative number, overflow or a promotion to float64 "
        "can happen, for all inputs in the ranges of --range.",
    ),
]
Range = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME:LOW,HIGH",
        help="Between which numbers an input lies, for --hazards and --bounds; repeat.",
    ),
]
Bounds = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="PATH",
        help="Only a proven bound of the rounding error of each output beside the measured error, in a box around the "
        "arrays of an .npz, or 'examples': see --range and --width.",
    ),
]
Width = Annotated[
    float,
    typer.Option("--width", min=0.0, help="The half width of the box of --bounds, as a part of each number."),
]
EXAMPLES = "examples"
MOST_NUMBERS = 2**24
"""The most numbers of a file's outputs that it is run for several times, as for the dot product."""
SHOWN = 30
"""The most rows of a table of values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The questions that were asked."""

    linear: Linear = False
    zero: Zero = False
    numerics: Numerics = None
    hazards: Hazards = False
    bounds: Bounds = None
    ranges: Range = None
    width: Width = 0.0

    def __bool__(self) -> bool:
        return self.first != ""

    @property
    def first(self) -> str:
        """The name of the first question that was asked; "" for none."""
        asked = (field.name for field in fields(self) if getattr(self, field.name))
        return next((name for name in asked if name not in {"ranges", "width"}), "")


@dataclass(frozen=True, slots=True)
class Asked:
    """The files that are asked about: their paths, what was read of them, and the function that they were made from."""

    paths: Sequence[str]
    files: Sequence[Any]
    made: Subject | None = None
    derived: Derived | None = None
    """What was written, if not what was asked for."""

    @property
    def block(self) -> Block:
        """The nodes of the first file."""
        block: Block = self.files[0].block
        return block

    def known(self) -> Arrays:
        """The example inputs of a Python file; none for a model."""
        made = self.made
        if made is None or isinstance(made, LoadedModel) or made.arguments.drawn:
            return {}
        return examples(self.derived or made.derived, made.arguments.values)

    def arrays(self, path: str, option: str) -> Arrays:
        """The arrays of a path or of the examples, one for each input; states have their first values.

        Raises SpecError for files of two passes, and for examples that are not there.
        """
        if len(self.paths) > 1:
            raise SpecError(f"--{option} runs one file, and the passes are in two", cure="Say --form joint.")
        known = self.known()
        if path == EXAMPLES and not known:
            raise SpecError(
                f"--{option} {EXAMPLES} is for a Python file with example_inputs()", cure="Give the inputs in an .npz."
            )
        return arrays_for(open_file(self.paths[0]), self.block, known, None if path == EXAMPLES else path)


def answer(asked: Questions, about: Asked, folder: str, *, json: bool) -> None:
    """Print the answers, each under its heading, or as one JSON object. The exit status is 1 if one is no."""
    found: dict[str, Any] = {}
    if asked.linear:
        found["linear"] = linear(about, folder)
    if asked.zero:
        made = about.made
        recorded = () if made is None else (made.recorded.block, made.recorded.inputs)
        found["zero"] = zero_rows(about.files, *recorded)
    if asked.numerics:
        arrays = about.arrays(asked.numerics, "numerics")
        found["numerics"] = numeric_rows(about.files[0], arrays)
    if asked.hazards:
        found["hazards"] = hazard_rows(about.files[0], read_ranges(asked.ranges))
    if asked.bounds:
        arrays, ranges = about.arrays(asked.bounds, "bounds"), read_ranges(asked.ranges)
        run = open_file(about.paths[0])
        found["bounds"] = bound_rows(about.files[0], arrays, run=run, ranges=ranges, width=asked.width)
    if json:
        print_json(found)
    for name, rows in {} if json else found.items():
        _SHOWN[name](rows)
    if "linear" in found and not _is_right(found["linear"]):
        raise NotRightError


def _is_right(found: Mapping[str, Any]) -> bool:
    """Whether no derivative is known to be wrong: not linear, or another one than differences of the outputs tell."""
    verdicts = {row["verdict"] for row in found["rows"]}
    return verdicts.isdisjoint({"not linear", "independent"}) and found["numbers"].get("agree", True)


# Linear.


@own_errors("the file cannot be listed")
def linear(about: Asked, folder: str) -> dict[str, Any]:
    """The rows of the proof, and the check by numbers at the examples or at drawn inputs.

    A Python file's gradient that is seeded with 1 is written once more to the folder, with the cotangent as an input.
    """
    made = None if about.made is None else about.made.derived
    is_seeded = isinstance(made, SplitProgram) and made.seeded
    if isinstance(made, SplitProgram) and is_seeded:
        derived = SplitProgram(made.program, made.split, seeded=False, differentiated=made.differentiated)
        path = os.path.join(folder, "cotangent.onnx")
        save_derived(derived, path, "gradient")
        about = Asked([path], [read_written(path)], about.made, derived)
    rows = linearity().linear_rows(about.files)
    for row in rows:
        row["file"] = os.path.basename(row["file"])
    numbers = _numbers(about)
    linearity().disprove(rows, numbers.get("deviations", {}), _unit(about.block))
    return {"rows": rows, "seeded": is_seeded, "numbers": numbers}


def _unit(block: Block) -> float:
    """The spacing of numbers at 1 in the coarsest dtype of the inputs."""
    floats = [p.type.dtype for p in block.params if p.type.is_float]
    return max((float(ml_dtypes.finfo(dtype).eps) for dtype in floats), default=2.0**-52)  # type: ignore[no-untyped-call]


def _numbers(about: Asked) -> dict[str, Any]:
    """The deviation of each derivative from linear at random cotangents, and both sides of the dot product."""
    if len(about.paths) > 1:
        return {"why": "the passes are in two files"}
    if _numbers_of(about.block.results) > MOST_NUMBERS:
        return {"why": f"the outputs hold more than {MOST_NUMBERS} numbers"}
    module = linearity()
    cotangents, tangents = module.seeds_of(about.files[0], about.files)
    known, run = about.known(), open_file(about.paths[0])
    try:
        arrays = arrays_for(run, about.block, known)
        deviations = module.confirm(run, arrays, [*cotangents, *tangents])
        sides = module.dot_product(run, arrays, cotangents)
    except (RunError, SpecError) as error:
        return {"why": f"the file does not run at drawn inputs: {error.what}"}
    found: dict[str, Any] = {"deviations": deviations, "at": "the examples" if known else "drawn inputs"}
    return {**found, **(sides or {})}


def _numbers_of(values: Sequence[Value]) -> int:
    """Return how many numbers values have, without those whose sizes only the run knows."""
    shapes = [v.type.shape or () for v in values]
    return sum(math.prod(d for d in shape if isinstance(d, int)) for shape in shapes)


def _show_linear(found: Mapping[str, Any]) -> None:
    title = "Linear: whether each derivative is linear in the cotangents"
    heading(title + (", here with the cotangent as an input" if found["seeded"] else ""))
    if not found["rows"]:
        console().print("none: the file has no derivative")
        return
    numbers = found["numbers"]
    deviations = numbers.get("deviations", {})
    rows = []
    for r in found["rows"]:
        style = {"linear": "green", "zero": "green", "seeded": "yellow", "not proven": "yellow"}.get(
            r["verdict"], "bold red"
        )
        deviation = f"{deviations[r['output']]:.1e}" if r["output"] in deviations else ""
        rows.append((r["output"], Text(r["verdict"], style), ", ".join(r["in"]), r["checked"], deviation, *_at(r)))
    columns = ("derivative", "", "in", "nodes checked", "deviation", "node", "line", "")
    console().print(table(columns, rows, right=("nodes checked", "deviation"), whole=("derivative", "", "line")))
    for r in found["rows"]:
        if r["why"]:
            console().print(Text(f"{r['output']}: {r['why']}."), soft_wrap=True)
    if "why" in numbers:
        at = f" at {numbers['at']}" if "at" in numbers else ""
        console().print(Text(f"Not checked by numbers: {numbers['why']}{at}."), soft_wrap=True)
    elif "differences" in numbers:
        one, other, at = numbers["differences"], numbers["gradients"], numbers["at"]
        told = f"Dot product at {at}: {one:.9g} by differences of the outputs, {other:.9g} by the gradients."
        wrong = " They differ: a path is dropped or wrong, or the outputs have kinks or steps close by."
        bent = " The outputs have a kink there, and the gradients are between the slopes of both sides."
        right = Text(told + bent * numbers["kinked"])
        console().print(right if numbers["agree"] else Text(told + wrong, style="bold red"), soft_wrap=True)
        for r in numbers.get("inputs", ()):
            sides = f"  {r['name']} alone: {r['differences']:.9g} by differences, {r['gradients']:.9g} by its gradient"
            console().print(Text(sides, style="" if r["agree"] else "bold red"), soft_wrap=True)


def _at(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["operator"], row["place"], row["source"]


# Zero.

_COLOURS = {"derivative 0": "bold red", "dropped path": "bold red", "no influence": "yellow"}


def _show_zero(rows: Sequence[Mapping[str, Any]]) -> None:
    heading("Zero: what has no influence, and where paths are cut")
    if not rows:
        console().print("none")
        return
    shown = [(Text(r["kind"], _COLOURS.get(r["kind"], "")), ", ".join(r["names"]), r["why"], *_at(r)) for r in rows]
    console().print(table(("", "of", "why", "node", "line", ""), shown, whole=("", "line")))


# Numerics.


def _show_numerics(found: Mapping[str, Any]) -> None:
    heading("Numerics: the range of each value, the worst first")
    rows = found["rows"]
    shown = [
        (r["name"], r["type"], *(_number(r[n]) for n in NUMBERS), _number(r["relative"], 1), _odd(r), *_at(r))
        for r in rows[:SHOWN]
    ]
    numbers = ("min", "max", "mean size", "from float64")
    columns = ("value", "type", *numbers, "", "node", "line", "source")
    console().print(table(columns, shown, right=numbers, whole=("type", *numbers, "line")))
    if len(rows) > SHOWN:
        console().print(f"and {len(rows) - SHOWN} more values, which --json lists")
    if found["why"]:
        console().print(f"Some values are not compared with float64: {found['why']}.")


NUMBERS = ("min", "max", "magnitude")


def _odd(row: Mapping[str, Any]) -> Text:
    """How many NaN, infinite and denormal numbers a value has, in red where the first two begin."""
    counts = {"NaN": row["nan"], "inf": row["infinite"], "denormal": row["denormal"]}
    told = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return Text(f"{row['begins']} begins: {told}", "bold red") if row["begins"] else Text(told)


def _number(number: float | None, digits: int = 2) -> str:
    return "" if number is None else f"{number:.{digits}e}" if number else "0"


# Hazards.


def _show_hazards(found: Mapping[str, Any]) -> None:
    heading("Hazards: what can happen for inputs in their ranges")
    begun = [r for r in found["rows"] if not r["follows"]] or found["rows"]
    if begun:
        shown = [(r["hazard"], _certainty(r["certainty"]), r["ranges"], *_at(r)) for r in begun[:SHOWN]]
        console().print(table(("", "", "ranges of the operands", "node", "line", ""), shown, whole=("line",)))
    else:
        console().print(Text("none begins", style="green"))
    if len(begun) > SHOWN:
        console().print(f"and {len(begun) - SHOWN} more, which --json lists")
    if following := len(found["rows"]) - len(begun):
        console().print(f"Infinities of these places meet at {following} more, which --json lists.")
    if found["open"]:
        free = f" of {', '.join(found['free'])}" if found["free"] else " of what these places make"
        console().print(f"{found['open']} nodes may overflow as no range is known{free}.")
    if found["unknown"]:
        console().print(f"Nothing is known of the results of {', '.join(found['unknown'])}.")


def _certainty(text: str) -> Text:
    return Text(text, "bold red" if text == "always" else "yellow")


# Bounds.


def _show_bounds(found: Mapping[str, Any]) -> None:
    heading("Bounds: the rounding error of each output, proven and measured")
    rows = [
        (
            r["output"],
            Text("no bound", "yellow") if r["bound"] is None else _number(r["bound"], 1),
            _number(r["measured"], 1) or ("" if found["why"] else "not finite"),
            "" if r["ratio"] is None else f"{r['ratio']:.3g}",
            _number(r["size"], 1),
            *_at(r),
        )
        for r in found["rows"]
    ]
    numbers = ("bound", "measured", "ratio", "size")
    columns = ("output", *numbers, "no bound of", "line", "")
    console().print(table(columns, rows, right=numbers, whole=("output", *numbers, "line")))
    for r in found["rows"]:
        if r["why"]:
            console().print(Text(f"{r['output']}: {r['operator']} has none: {r['why']}."), soft_wrap=True)
    if found["why"]:
        console().print(f"Not measured: {found['why']}.")
    if found["unknown"]:
        console().print(f"Nothing is known of the results of {', '.join(found['unknown'])}.")


_SHOWN: Mapping[str, Callable[[Any], None]] = {
    "linear": _show_linear,
    "zero": _show_zero,
    "numerics": _show_numerics,
    "hazards": _show_hazards,
    "bounds": _show_bounds,
}
