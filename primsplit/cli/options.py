"""The options that several commands share, and what they say: which function, with which inputs."""

from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from primsplit.arguments import arguments_of
from primsplit.cli.failures import user_output_to_stderr
from primsplit.errors import SpecError
from primsplit.export import SplitProgram
from primsplit.modes import derive, read_mode
from primsplit.userfile import load


class FormName(StrEnum):
    """How forward and backward pass are laid out in files."""

    JOINT = "joint"
    SPLIT = "split"
    FUNCTIONS = "functions"


class ModeName(StrEnum):
    """What is exported beside the function."""

    GRADIENT = "gradient"
    JVP = "jvp"
    LINEARIZE = "linearize"
    HVP = "hvp"
    JACOBIAN = "jacobian"
    HESSIAN = "hessian"


class BranchesName(StrEnum):
    """What becomes of Python branches on values that only the run knows."""

    EXPLORE = "explore"
    ERROR = "error"
    STATIC = "static"


class DtypeName(StrEnum):
    """The dtypes that carry gradients."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"


Target = Annotated[str, typer.Argument(metavar="MODEL", help="A Python file, or one function of it: model.py:loss.")]
TargetOrModel = Annotated[
    str, typer.Argument(metavar="MODEL", help="A Python file, one function of it (model.py:loss), or an ONNX model.")
]
Spec = Annotated[
    list[str] | None,
    typer.Option(
        "--spec",
        metavar="NAME:TYPE",
        help="The type of an input: x:f32\\[N,3], params.w:f64\\[3]; a name in it is a size known at run time. "
        "x:\\[N,3] keeps the dtype of the example.",
    ),
]
Branches = Annotated[
    BranchesName,
    typer.Option(
        "--branches",
        help="Python branches on traced values: follow every path, refuse them, or follow the way of the examples (and "
        "fail at run time on another).",
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
Mode = Annotated[
    ModeName | None,
    typer.Option(
        "--mode",
        help="By default what the file says, or the gradient; the derivative along a tangent (jvp), as one file or as "
        "a forward and a linear file (linearize); the Hessian times a vector (hvp); the whole Jacobian or Hessian.",
    ),
]
Chunk = Annotated[
    int | None, typer.Option("--chunk", help="How many directions of a Jacobian or Hessian are computed at a time.")
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
    """A file's function with its arguments, traced, and with what is derived of it."""

    def __init__(
        self,
        target: str,
        spec: list[str] | None,
        wrt: list[str] | None,
        dtype: DtypeName | None,
        *,
        quiet: bool,
        mode: ModeName | None = ModeName.GRADIENT,
        chunk: int | None = None,
        branches: BranchesName = BranchesName.EXPLORE,
    ) -> None:
        texts = read_specs(spec)
        with progress(f"reading {target}", quiet=quiet) as told, user_output_to_stderr():
            self.file = load(target)
            self.arguments = arguments_of(self.file, texts, None if dtype is None else dtype.value)
            told.update(f"tracing {self.file.name}")
            args, named = self.arguments.specs
            asked = wrt or self.file.wrt
            self.mode = read_mode(mode.value if mode is not None else self.file.mode or "gradient")
            named = {**named, "branches": branches.value}
            self.derived = derive(self.file.function, *args, mode=self.mode, wrt=asked, chunk=chunk, **named)

    @property
    def split(self) -> SplitProgram:
        """The gradient. Raises SpecError where something else was derived."""
        if not isinstance(self.derived, SplitProgram):
            raise SpecError("this command is for gradients")
        return self.derived


def progress(text: str, *, quiet: bool = False) -> Any:
    """A spinner with a text on stderr while something is done; `quiet`, or no terminal, shows none."""
    console = Console(stderr=True)
    console.quiet = quiet or not console.is_terminal
    return console.status(text)
