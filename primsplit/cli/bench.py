"""`primsplit bench`: compares the time of the gradient in onnxruntime with that of the function alone."""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.progress import track
from rich.text import Text

from primsplit.cli import options
from primsplit.cli.failures import command
from primsplit.cli.late import make_session, open_file
from primsplit.cli.loaded import LoadedModel, Subject, name_of, read_subject
from primsplit.cli.output import console, print_json, progress_console, table
from primsplit.ir.caching.counters import Buffers, buffers
from primsplit.ir.carriers import FOUR_BITS
from primsplit.programs.plain import arrays_of
from primsplit.programs.prepared import new_buffer
from primsplit.programs.program import Program

Arrays = dict[str, npt.NDArray[Any]]
BOUND = "gradient, bound"
"""The gradient with buffers that are allocated and bound once."""
WARM = 3
"""Runs before the first timed one, in which onnxruntime allocates its memory."""


@command
def bench(
    target: options.TargetOrModel,
    *,
    onnx: Annotated[
        str | None, typer.Option("--onnx", metavar="PATH", help="Time this gradient file, instead of a fresh one.")
    ] = None,
    spec: options.Spec = None,
    wrt: options.Wrt = None,
    dtype: options.Dtype = None,
    runs: Annotated[int, typer.Option("--runs", min=1, max=10**9, help="How often each is run.")] = 50,
    threads: Annotated[int, typer.Option("--threads", min=0, help="Threads of onnxruntime; 0 for one a core.")] = 0,
    model: options.RunOptions,
    json: options.Json = False,
) -> None:
    """Time the gradient file in onnxruntime, and the function alone, and print the ratio.

    They take turns. The least time and the median of each are printed; the least says most on a machine that does other
    work too. Give sizes with --spec: for small arrays all time is overhead.

    The first call is printed beside the later ones, with the buffers and bytes that each allocates for inputs and
    results: none if these are bound once, as ps.trace(f, ...).prepare(...) does.
    """
    gradient = options.FunctionDerivation(spec=spec, wrt=wrt, dtype=dtype, mode=options.ModeName.GRADIENT)
    made = read_subject(target, gradient, model, quiet=json)
    calls = _calls(made, onnx, threads)
    for call in calls.values():
        call.warm_up()
    for _ in track(range(runs), "timing", console=progress_console(quiet=json), transient=True):
        for call in calls.values():
            call.take()
    times = {name: call.told() for name, call in calls.items()}
    ratio = {key: times["gradient"][key] / times["forward"][key] for key in ("min", "median")}
    answer = {"function": name_of(made), "file": onnx, "runs": runs, "threads": threads, **times, "ratio": ratio}
    if json:
        print_json(answer)
    else:
        _show(answer)


class Timed:
    """A call, its results, time and buffers in a first run, and those of the later runs."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.samples: list[float] = []
        self.results: Any = None
        self.first, self.at_first = self._measured()
        self.later = Buffers(0, 0)

    def warm_up(self) -> None:
        """Run until onnxruntime has allocated its memory."""
        for _ in range(WARM):
            self.call()

    def take(self) -> None:
        """Run once and record the time."""
        seconds, self.later = self._measured()
        self.samples.append(seconds)

    def _measured(self) -> tuple[float, Buffers]:
        before = buffers()
        started = time.perf_counter()
        self.results = self.call()
        return time.perf_counter() - started, buffers().since(before)

    def told(self) -> dict[str, Any]:
        """The least time and the median of the later runs, and their buffers; the same of the first run."""
        return {
            "min": min(self.samples),
            "median": statistics.median(self.samples),
            **self.later._asdict(),
            "first": {"seconds": self.first, **self.at_first._asdict()},
        }


def _calls(made: Subject, path: str | None, threads: int) -> dict[str, Timed]:
    """The timed calls on the same inputs: the function alone, the gradient, and the gradient in buffers bound once."""
    program = made.split.program
    forward = made.model if isinstance(made, LoadedModel) else program
    point = arrays_of(program, made.arguments.values)
    arrays = dict(zip(program.inputs, point, strict=True))
    session = _session(forward, threads)
    alone = Timed(_call(session, _chosen(session, arrays)))
    value = dict(zip(forward.outputs, alone.results, strict=True))
    asked = dict(zip(made.split.cotangent_names, made.split.split.of, strict=True))
    seeds = {name: np.ones_like(value[program.outputs[asked[name]]]) for name in made.split.seed_names}
    if path is None:
        both = _session(made.split.joint(), threads)
    else:
        file = open_file(path)
        file.check({name: a for name, a in {**arrays, **seeds}.items() if name in file.inputs})
        both = make_session(os.path.abspath(path), threads=threads)
    feeds = _chosen(both, {**arrays, **seeds})
    gradient = Timed(_call(both, feeds))
    calls = {"forward": alone, "gradient": gradient}
    if not both.carried and not any(a.dtype.name in FOUR_BITS for a in (*feeds.values(), *gradient.results)):
        calls[BOUND] = Timed(_bound(both, feeds, gradient.results))
    return calls


def _bound(session: Any, feeds: Arrays, results: Sequence[npt.NDArray[Any]]) -> Callable[[], Any]:
    """A run into buffers for these results, which the first run allocates and binds."""
    made: list[Callable[[], None]] = []

    def call() -> None:
        if not made:
            buffers = [new_buffer(a.shape, a.dtype) for a in results]
            made.append(session.bound(feeds, dict(zip(session.outputs, buffers, strict=True))).run)
        made[0]()

    return call


def _session(program: Program, threads: int) -> Any:
    return make_session(program.to_onnx(), threads=threads, plan_memory=True)


def _chosen(session: Any, arrays: Mapping[str, Any]) -> Arrays:
    return {name: arrays[name] for name in session.inputs if name in arrays}


def _call(session: Any, feeds: Arrays) -> Callable[[], Any]:
    return lambda: session.run(feeds)


def _show(answer: Mapping[str, Any]) -> None:
    rows = [_row(name, answer[name]) for name in ("forward", "gradient", BOUND) if name in answer]
    ratios = [f"{answer['ratio'][key]:.2f} x" for key in ("min", "median")]
    columns = ("", "least", "median", "buffers", "bytes", "first call", "buffers", "bytes")
    out = console()
    out.print(table(columns, [*rows, ("gradient / forward", *ratios, *[""] * 5)], right=columns[1:]))
    threads = answer["threads"] or "one a core"
    out.print(Text(f"{answer['function']}: {answer['runs']} runs of each, threads: {threads}", style="bold"))


def _row(name: str, told: Mapping[str, Any]) -> tuple[str, ...]:
    first = told["first"]
    later = (_duration(told["min"]), _duration(told["median"]), str(told["made"]), str(told["bytes"]))
    return (name, *later, _duration(first["seconds"]), str(first["made"]), str(first["bytes"]))


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
