"""The options that several commands share, with their help texts: which function, with which inputs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property, partial
from typing import Annotated, Any

import typer

from primsplit.audit.frozen import Frozen, draws
from primsplit.cli.failures import user_output_to_stderr
from primsplit.cli.groups import said_in
from primsplit.cli.output import plain, progress_console
from primsplit.cli.reading import noting
from primsplit.ir import Type
from primsplit.ir.errors import SpecError
from primsplit.programs.api import SplitProgram, trace
from primsplit.programs.arguments import Arguments, Call, arguments_of
from primsplit.programs.examples import Way
from primsplit.programs.export import Derived, Kind, derive, gradient_beside, read_mode, save_derived
from primsplit.programs.loading import load_silently
from primsplit.programs.program import Program
from primsplit.programs.trace_program import trace_program
from primsplit.programs.userfile import UserFile, load
from primsplit.tracing import trees
from primsplit.tracing.specs import SHORT
from primsplit.transforms.policies import POLICIES


class FormName(StrEnum):
    """The layout of forward and backward pass in files."""

    JOINT = "joint"
    SPLIT = "split"
    FUNCTIONS = "functions"


class ModeName(StrEnum):
    """The derivative that is exported with the function."""

    GRADIENT = "gradient"
    JVP = "jvp"
    LINEARIZE = "linearize"
    HVP = "hvp"
    JACOBIAN = "jacobian"
    HESSIAN = "hessian"
    VALUE = "value"


class BranchesName(StrEnum):
    """The treatment of Python branches on values known only at run time."""

    EXPLORE = "explore"
    ERROR = "error"
    GUARD = "guard"
    STATIC = "static"


class ProviderName(StrEnum):
    """The execution provider of files: a name of `providers.Provider`."""

    CPU = "cpu"
    CUDA = "cuda"


class WeightsName(StrEnum):
    """The form in which files receive weights: a name of `providers.GivenAs`."""

    INPUTS = "inputs"
    DEFAULTS = "defaults"


class ProvenanceName(StrEnum):
    """The names of `providers.Provenance`, the amount of provenance in a file."""

    FULL = "full"
    LINES = "lines"
    NONE = "none"


class DtypeName(StrEnum):
    """The dtypes that carry gradients."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"


def one_of(names: type[StrEnum], short: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Keywords for a typer option that is one of these names, or one of `short`; an error suggests the nearest name."""

    def read(text: str) -> StrEnum:
        name = (short or {}).get(text, text)
        if name in list(names):
            return names(name)
        near = get_close_matches(text, list(names), n=1)
        also = f" The nearest is {near[0]}." if near else ""
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(names)}.{also}")

    return {"parser": read, "metavar": f"[{'|'.join(names)}]"}


TargetOrModel = Annotated[
    str, typer.Argument(metavar="MODEL", help="A Python file, one function of it (model.py:loss), or an ONNX model.")
]
Spec = Annotated[
    list[str] | None,
    typer.Option(
        "--spec",
        metavar="NAME:TYPE",
        help="The type of an input: x:f32\\[N,3], params.w:f64\\[3]; a name in it is a size known at run time. "
        "x:\\[N,3] keeps the dtype of the example. Repeat.",
    ),
]
Branches = Annotated[
    BranchesName,
    typer.Option(
        "--branches",
        help="Python branches on traced values: follow every path, refuse them, or follow the way of the examples (and "
        "fail at run time on another); guard: also each way that a function of ps.guarded took in its file.",
        **one_of(BranchesName),
    ),
]
Wrt = Annotated[
    list[str] | None,
    typer.Option("--wrt", metavar="NAME", help="An argument to differentiate, instead of the file's `wrt`; repeat."),
]
Of = Annotated[list[str] | None, typer.Option("--of", metavar="NAME", help="An output to differentiate; repeat.")]
Form = Annotated[
    FormName,
    typer.Option(
        "--form",
        help="One graph, a forward and a backward (or linear) file, or one file with two functions in it.",
        **one_of(FormName),
    ),
]
Mode = Annotated[
    ModeName | None,
    typer.Option(
        "--mode",
        help="By default what the file says, or the gradient; the derivative along a tangent (jvp), as one file or as "
        "a forward and a linear file (linearize); the Hessian times a vector (hvp); the whole Jacobian or Hessian; the "
        "function alone (value), such as a training step.",
        **one_of(ModeName),
    ),
]
Chunk = Annotated[
    int | None, typer.Option("--chunk", help="How many directions of a Jacobian or Hessian are computed at a time.")
]
Policy = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="What the forward pass keeps for the backward pass: save_all, recompute_cheap, nothing, or the names of "
        "values as `primsplit audit --stage split` lists them; repeat. The rest is computed again.",
    ),
]


Dtype = Annotated[
    DtypeName | None,
    typer.Option(
        "--dtype",
        help="The dtype of every floating-point input, f32 for float32.",
        **one_of(DtypeName, SHORT),
    ),
]
Provider = Annotated[
    ProviderName,
    typer.Option(
        "--provider",
        help="The execution provider of onnxruntime that files are for. One for cuda also runs on the CPU.",
        **one_of(ProviderName),
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="RUNTIME>=VERSION",
        help="The oldest runtime that files are for, such as 'onnxruntime>=1.32': they go around no fault that is "
        "mended there, and run from that version on. Otherwise they run from onnxruntime 1.20 on.",
    ),
]
Weights = Annotated[
    WeightsName,
    typer.Option(
        "--weights",
        help="How the file takes weights that are differentiated: as inputs, or as inputs that keep their numbers as "
        "defaults for runs that give none. onnxruntime for JavaScript ignores numbers given for an input with a "
        "default (node) or refuses them (browsers).",
        **one_of(WeightsName),
    ),
]
Provenance = Annotated[
    ProvenanceName,
    typer.Option(
        "--provenance",
        help="What files tell of the source: your lines with their text; files, line numbers and names; or nothing.",
        **one_of(ProvenanceName),
    ),
]
Audit = Annotated[
    str | None,
    typer.Option(
        "--audit",
        metavar="PATH",
        help="Also write the listing of the file that is written: as a page (.html), as text, as a report (.json), "
        "or as a module of NumPy (.py).",
    ),
]
Length = Annotated[
    list[str] | None,
    typer.Option(
        "--length", metavar="NAME:N", help="How many elements a sequence has that an ONNX model takes; repeat."
    ),
]
Absent = Annotated[
    list[str] | None,
    typer.Option("--absent", metavar="NAME", help="An optional input of an ONNX model that is not given; repeat."),
]
SafeWhere = Annotated[
    bool,
    typer.Option("--safe-where", help="Of an ONNX model: no NaN in the gradient from sides of a Where not taken."),
]
Constant = Annotated[
    list[str] | None,
    typer.Option(
        "--constant",
        metavar="NAME",
        help="A node of an ONNX model, or an operator such as TreeEnsembleRegressor, whose value has no derivative; "
        "repeat.",
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option("--inputs", metavar="PATH", help="An .npz of arrays for an ONNX model's inputs; others are drawn."),
]
Range = Annotated[
    list[str] | None,
    typer.Option("--range", metavar="NAME:LOW,HIGH", help="Between what an ONNX model's input is drawn; repeat."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def read_specs(texts: list[str] | None) -> dict[str, str]:
    """The texts of `--spec` by name. Raises SpecError for one without a colon, or a repeated name."""
    found: dict[str, str] = {}
    for text in texts or []:
        name, colon, said = text.rpartition(":")
        if not colon or not name.strip():
            raise SpecError(f"cannot read --spec {text}", cure="Write it like --spec x:f32[N,3].")
        if name.strip() in found:
            raise SpecError(f"--spec {name} is given twice")
        found[name.strip()] = said.strip()
    return found


def read_lengths(texts: list[str] | None) -> dict[str, int]:
    """The numbers of `--length` by name. Raises SpecError for a text without one."""
    found = {}
    for text in texts or []:
        name, _, said = text.rpartition(":")
        if not name or not said.strip().isdecimal():
            raise SpecError(f"cannot read --length {text}", cure="Write it like --length x:3.")
        found[name.strip()] = int(said)
    return found


def read_ranges(texts: list[str] | None) -> dict[str, tuple[float, float]]:
    """The bounds of `--range` by name. Raises SpecError for a text without two numbers in order."""
    found = {}
    for text in texts or []:
        name, _, said = text.rpartition(":")
        try:
            low, high = map(float, said.split(","))
        except ValueError:
            low, high = 1.0, 0.0
        if not name or not (math.isfinite(high - low) and low <= high):
            raise SpecError(f"cannot read --range {text}", cure="Write it like --range x:0.5,2.")
        found[name.strip()] = (low, high)
    return found


def read_policy(texts: list[str] | None) -> str | list[str]:
    """The policy of `--policy`, or names of values to keep. Raises SpecError if a policy is given with other texts."""
    found = texts or ["default"]
    policies = [text for text in found if text in POLICIES]
    if policies and len(found) > 1:
        raise SpecError(f"--policy {policies[0]} stands alone", cure="Give one policy, or names of values to keep.")
    return policies[0] if policies else found


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """The options that say which derivative of what is wanted."""

    spec: Spec = None
    wrt: Wrt = None
    of: Of = None
    mode: Mode = None
    chunk: Chunk = None
    policy: Policy = None

    def derived(self, mode: Kind, function: Any, *args: Any, **named: Any) -> Derived:
        """Return the derivative of a function or a Program; `named` are further arguments of `derive`."""
        return derive(function, *args, mode=mode, chunk=self.chunk, policy=read_policy(self.policy), **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDerivation(Derivation):
    """The same, with the options for functions of Python files."""

    dtype: Dtype = None
    branches: Branches = BranchesName.EXPLORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The options that say how files are written."""

    form: Form = FormName.JOINT
    provider: Provider = ProviderName.CPU
    weights: Weights = WeightsName.INPUTS
    runtime: Target = None
    provenance: Provenance = ProvenanceName.FULL

    def save(self, made: Derived, path: str, mode: Kind) -> list[str]:
        """Write a derivative; return the paths."""
        return save_derived(
            made,
            path,
            mode,
            self.form.value,
            self.provider.value,
            self.weights.value,
            self.runtime,
            self.provenance.value,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The options about an ONNX model's inputs; `inputs` and `ranges` are options of commands that run it."""

    length: Length = None
    absent: Absent = None
    safe_where: SafeWhere = False
    constant: Constant = None
    inputs: str | None = None
    ranges: list[str] | None = None

    def load(self, path: str, specs: Mapping[str, str] | None = None) -> Program:
        """The model, with sequences of these lengths, and with all optional inputs but those declared absent."""
        given = dict.fromkeys(self.absent or [], False)
        lengths = read_lengths(self.length)
        constant = self.constant or ()
        return load_silently(path, lengths, given, specs, safe_where=self.safe_where, constant=constant)

    def refuse(self) -> None:
        """Raise SpecError if one of these options is given for a Python file."""
        for name in said_in(self):
            instead = {"--safe-where": "ps.safe_where", "--constant": "ps.stop_gradient"}.get(name)
            cure = f"In Python, write {instead}." if instead else "A Python file says it in example_inputs()."
            raise SpecError(f"{name} is for ONNX models", cure=cure)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ModelOptions):
    """The same, with the options about the arrays that a model is run on."""

    inputs: Inputs = None
    ranges: Range = None


class Exported:
    """A file's function with its arguments, traced, and its derivative."""

    def __init__(self, target: str, asked: FunctionDerivation, *, quiet: bool) -> None:
        texts = read_specs(asked.spec)
        with progress(f"reading {target}", quiet=quiet) as told, user_output_to_stderr(), noting() as read:
            self.read = read
            """The files that the program opens to read."""
            self.file = load(target)
            self.arguments = arguments_of(self.file, texts, None if asked.dtype is None else asked.dtype.value)
            told.update(plain(f"tracing {self.file.name}"))
            function, (args, named) = _recorded(self.file, self.arguments, asked.branches)
            self.mode = read_mode(asked.mode.value if asked.mode is not None else self.file.mode or "gradient")
            self._trace = partial(trace, function, *args, **named)
            named = {**named, "wrt": asked.wrt or self.file.wrt, "of": asked.of or None}
            self.derived = asked.derived(self.mode, function, *args, **named)
            self._gradient = partial(gradient_beside, self.derived, function, *args, mode=self.mode, **named)

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.file.path

    @cached_property
    def recorded(self) -> Program:
        """The function alone, as it was recorded."""
        if not isinstance(self.derived, Program):
            return self.derived.program
        if self.mode == "value":
            return self.derived
        with user_output_to_stderr():
            return self._trace()

    @cached_property
    def split(self) -> SplitProgram:
        """The gradient, whatever derivative was requested."""
        return self._gradient()

    def drawn(self) -> list[Frozen]:
        """The calls of random generators that drew while the function was traced."""
        return [found for found in draws(self.recorded.block, self.file.function) if found.origin == "draw"]


def _recorded(file: UserFile, arguments: Arguments, branches: BranchesName) -> tuple[Any, Call]:
    """The function to trace, and the arguments to trace it on.

    If the file's examples decide the branches and specs the sizes, it is the program of those branches.
    """
    args, named = arguments.specs
    is_sized = not arguments.drawn and any(isinstance(x, Type) for x in trees.flatten(arguments.specs)[0])
    if branches is not BranchesName.STATIC or not is_sized or arguments.function is not file.function:
        return file.function, (args, {**named, "branches": branches.value})
    way = Way.of(*arguments.values)
    return trace_program(file.function, args, named, branches="static", ways=[way]).with_own_states(), ((), {})


def progress(text: str, *, quiet: bool = False) -> Any:
    """A spinner with a text on stderr while a command works; none if `quiet` or without a terminal."""
    return progress_console(quiet=quiet).status(plain(text))
