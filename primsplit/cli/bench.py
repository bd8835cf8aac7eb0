"""`primsplit bench`: the time of the gradient in onnxruntime beside that of the function alone."""

import os
import statistics
import time
from collections.abc import Callable, Mapping
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
from primsplit.programs.program import Program, arrays_of

Arrays = dict[str, npt.NDArray[Any]]
WARM = 3
"""Runs before the first that counts: onnxruntime gets its memory in them."""


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
    runs: Annotated[int, typer.Option("--runs", min=1, help="How often each is run.")] = 50,
    threads: Annotated[int, typer.Option("--threads", min=0, help="Threads of onnxruntime; 0 for its own choice.")] = 0,
    length: options.Length = None,
    absent: options.Absent = None,
    safe_where: options.SafeWhere = False,
    inputs: options.Inputs = None,
    ranges: options.Range = None,
    json: options.Json = False,
) -> None:
    """Time the gradient file in onnxruntime, and the function alone, and tell the ratio.

    They take turns. Of each the least time and the median are told; the least says most on a machine that does other
    work too. Give sizes with --spec: what is small is all overhead.
    """
    made = read_subject(
        target, spec, wrt, dtype, quiet=json, told=options.Told(length, absent, inputs, ranges, safe_where=safe_where)
    )
    calls = _calls(made, onnx, threads)
    for call in calls.values():
        for _ in range(WARM):
            call()
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in track(range(runs), "timing", console=progress_console(quiet=json), transient=True):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            samples[name].append(time.perf_counter() - started)
    times = {name: {"min": min(v), "median": statistics.median(v)} for name, v in samples.items()}
    ratio = {key: times["gradient"][key] / times["forward"][key] for key in ("min", "median")}
    answer = {"function": name_of(made), "file": onnx, "runs": runs, "threads": threads, **times, "ratio": ratio}
    if json:
        print_json(answer)
    else:
        _show(answer)


def _calls(made: Subject, path: str | None, threads: int) -> dict[str, Callable[[], Any]]:
    """One run of the function alone, and one of the gradient, on the same inputs."""
    program = made.split.program
    forward = made.model if isinstance(made, LoadedModel) else program
    point = arrays_of(program, made.arguments.values)
    arrays = {n: a for n, a in zip(program.inputs, point, strict=True) if n not in program.defaults}
    alone = _session(forward, threads)
    value = dict(zip(forward.outputs, alone.run(_chosen(alone, arrays)), strict=True))
    asked = dict(zip(made.split.cotangent_names, made.split.split.of, strict=True))
    seeds = {name: np.ones_like(value[program.outputs[asked[name]]]) for name in made.split.seed_names}
    if path is None:
        both = _session(made.split.joint(), threads)
    else:
        file = open_file(path)
        file.check({name: a for name, a in {**arrays, **seeds}.items() if name in file.inputs})
        both = make_session(os.path.abspath(path), threads=threads)
    return {"forward": _call(alone, arrays), "gradient": _call(both, {**arrays, **seeds})}


def _session(program: Program, threads: int) -> Any:
    return make_session(program.to_onnx(), threads=threads, plan_memory=True)


def _chosen(session: Any, arrays: Mapping[str, Any]) -> Arrays:
    return {name: arrays[name] for name in session.inputs if name in arrays}


def _call(session: Any, arrays: Mapping[str, Any]) -> Callable[[], Any]:
    feeds = _chosen(session, arrays)
    return lambda: session.run(feeds)


def _show(answer: Mapping[str, Any]) -> None:
    rows = [(name, *(_duration(answer[name][key]) for key in ("min", "median"))) for name in ("forward", "gradient")]
    ratios = [f"{answer['ratio'][key]:.2f} x" for key in ("min", "median")]
    out = console()
    out.print(table(("", "least", "median"), [*rows, ("gradient / forward", *ratios)], right=("least", "median")))
    threads = answer["threads"] or "onnxruntime's choice"
    out.print(Text(f"{answer['function']}: {answer['runs']} runs of each, threads: {threads}", style="bold"))


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
