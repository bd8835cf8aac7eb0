"""The options that several commands share, and what they say: which function, with which inputs."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from primsplit.arguments import arguments_of
from primsplit.cli.failures import user_output_to_stderr
from primsplit.errors import SpecError
from primsplit.export import split
from primsplit.userfile import load


class FormName(StrEnum):
    """How forward and backward pass are laid out in files."""

    JOINT = "joint"
    SPLIT = "split"
    FUNCTIONS = "functions"


class DtypeName(StrEnum):
    """The dtypes that carry gradients."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"


Target = Annotated[str, typer.Argument(metavar="MODEL", help="A Python file, or one function of it: model.py:loss.")]
Spec = Annotated[
    list[str] | None,
    typer.Option(
        "--spec",
        metavar="NAME:TYPE",
        help="The type of an input: x:f32\\[N,3], params.w:f64\\[3]; a name in it is a size known at run time. "
        "x:\\[N,3] keeps the dtype of the example.",
    ),
]
Wrt = Annotated[
    list[str] | None,
    typer.Option("--wrt", metavar="NAME", help="An argument to differentiate, instead of the file's `wrt`."),
]
Form = Annotated[
    FormName,
    typer.Option("--form", help="One graph, a forward and a backward file, or one file with two functions in it."),
]
Dtype = Annotated[DtypeName | None, typer.Option("--dtype", help="The dtype of every floating-point input.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def read_specs(texts: list[str] | None) -> dict[str, str]:
    """The texts of `--spec` by name. Raises SpecError for one without a colon, or a name given twice."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, colon, said = text.partition(":")
        if not colon or not name.strip():
            raise SpecError(f"cannot read --spec {text}", cure="Write it like --spec x:f32[N,3].")
        if name.strip() in found:
            raise SpecError(f"--spec {name} is given twice")
        found[name.strip()] = said.strip()
    return found


class Exported:
    """A file's function with its arguments, traced and split."""

    def __init__(
        self, target: str, spec: list[str] | None, wrt: list[str] | None, dtype: DtypeName | None, *, quiet: bool
    ) -> None:
        texts = read_specs(spec)
        with progress(f"reading {target}", quiet=quiet) as told, user_output_to_stderr():
            self.file = load(target)
            self.arguments = arguments_of(self.file, texts, None if dtype is None else dtype.value)
            told.update(f"tracing {self.file.name}")
            args, named = self.arguments.specs
            self.split = split(self.file.function, *args, wrt=wrt or self.file.wrt, **named)


def progress(text: str, *, quiet: bool = False) -> Any:
    """A spinner with a text on stderr while something is done; `quiet`, or no terminal, shows none."""
    console = Console(stderr=True)
    console.quiet = quiet or not console.is_terminal
    return console.status(text)
