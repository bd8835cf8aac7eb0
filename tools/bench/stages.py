"""Measure what each stage for speed gains: the bench row that the pipeline names, with the stage and without it.

    python -m tools.bench.stages [STAGE ...] [--row "fixed mlp" ...] [--all-rows] [--quick] [--json]

The file with all stages and the file without the one are loaded in one process on one core, and take turns; the gain is
the least processor time without the stage over that with it, less 1, and the quartiles are those of the rounds' ratios.
`--row` tries other rows than the one that `primsplit rules --pipeline` names, `--all-rows` nearly all, `--changes` only
tells which files a stage changes. Results are compared before anything is timed.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import onnx

from primsplit.targets import pipeline
from primsplit.targets.pipeline import STAGES
from tools.bench.peers import use_cores
from tools.bench.rows import Ours, distance
from tools.bench.timing import clock_of, ratios, take_turns

NAME = "STAGES"
"""The name of the table of stages in `pipeline`."""
LEAST = 0.03
"""A stage that gains less than this in its row is not worth its code."""
LONGEST = 600
"""Seconds for the process of a stage and a row."""


def stages() -> dict[str, str]:
    """Return the stages for speed, each once, with the row of the benches that they name; "" for none."""
    return {stage.name: stage.bench for stage in STAGES if stage.purpose == "speed"}


def rows_of(bench: str) -> list[str]:
    """Return the rows whose name begins with a stage's bench, as `densities gauss` is one of each dtype."""
    from tools.bench.suite import rows

    return [name for name in rows() if bench and (name == bench or name.startswith(f"{bench} "))]


@contextlib.contextmanager
def without(stage: str) -> Iterator[None]:
    """Leave out a stage from what finishes programs, meanwhile."""
    setattr(pipeline, NAME, tuple(s for s in STAGES if s.name != stage))
    try:
        yield
    finally:
        setattr(pipeline, NAME, STAGES)


def nodes(ours: Ours) -> bytes:
    """Return the nodes and constants of a file, to see whether a stage changes it."""
    graph = onnx.GraphProto()
    graph.CopyFrom(ours.program.to_onnx().graph)
    for each in [graph, *bodies(graph)]:
        for field in ("value_info", "input", "output"):  # names of sizes count on from one export to the next
            each.ClearField(field)
    return bytes(graph.SerializeToString(deterministic=True))


def bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Return the graphs of loops and branches, also those inside of others."""
    for attribute in (a for node in graph.node for a in node.attribute if a.HasField("g")):
        yield attribute.g
        yield from bodies(attribute.g)


def measured(row: str, asked: Sequence[str], *, is_quick: bool, is_timed: bool = True) -> list[dict[str, Any]]:
    """Return the gain of these stages in a row, with its quartiles; "changes" is False where the file is the same."""
    from tools.bench.suite import rows

    ours = rows()[row].ours
    whole = ours(1)
    before, found = nodes(whole), []
    for stage in asked:
        told: dict[str, Any] = {"stage": stage, "row": row, "changes": False}
        with without(stage):
            if nodes(whole) != before:
                told["changes"] = True
                found.append(told | (gain(whole, ours(1), is_quick=is_quick) if is_timed else {}))
                continue
        found.append(told)
    return found


def gain(whole: Ours, less: Ours, *, is_quick: bool) -> dict[str, float]:
    """Return what the whole file gains over the one without a stage."""
    wrong = distance(whole.call(), less.call())
    rounds, budget = (5, 0.05) if is_quick else (31, 2.0)
    samples = take_turns({"with": whole.call, "without": less.call}, rounds=rounds, budget=budget, clock=clock_of(1))
    of, least = ratios(samples["without"], samples["with"]), min(samples["without"]) / min(samples["with"])
    return {
        "differs": wrong, "ms": 1e3 * min(samples["with"]), "gain": round(least - 1, 4),
        "median": round(of.median - 1, 4), "low": round(of.low - 1, 4), "high": round(of.high - 1, 4),
    }  # fmt: skip


def told(found: dict[str, Any]) -> str:
    """Return the line of a measurement."""
    head = f"{found['stage']:26s}{found['row']:32s}"
    if "failed" in found:
        return f"{head} failed: {found['failed']}"
    if not found["changes"]:
        return f"{head} nothing changes"
    if "gain" not in found:
        return f"{head} changes the file"
    mark = "" if found["gain"] >= LEAST else f"  below {LEAST:.0%}"
    return f"{head}{found['gain']:+8.1%} ({found['low']:+.1%} to {found['high']:+.1%}) of {found['ms']:.3g} ms{mark}"


def in_own_process(row: str, asked: Sequence[str], flags: Sequence[str]) -> list[dict[str, Any]]:
    """Return the measurements of stages in a row, taken in a process of its own."""
    line = [sys.executable, "-m", "tools.bench.stages", *asked, "--row", row, "--here", *flags]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PRIMSPLIT_THREADS": "1"}
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=LONGEST, env=env)
        found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        return [{"stage": stage, "row": row, "failed": type(error).__name__} for stage in asked]
    return found


def main() -> None:
    """Measure the stages that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--row", action="append", default=[])
    parser.add_argument("--all-rows", action="store_true")
    parser.add_argument("--changes", action="store_true", help="do not time; tell where the file changes")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        use_cores(1)
        print(json.dumps(measured(asked.row[0], asked.stages, is_quick=asked.quick, is_timed=not asked.changes)))
        return
    flags = [f"--{name}" for name in ("quick", "changes") if getattr(asked, name)]
    named = [stage for stage in stages() if not asked.stages or stage in asked.stages]
    places = {stage: rows_of(bench) for stage, bench in stages().items()}
    for row in asked.row or every_row():
        of_row = [stage for stage in named if asked.row or asked.all_rows or row in places[stage]]
        for found in in_own_process(row, of_row, flags) if of_row else ():
            print(json.dumps(found) if asked.json else told(found), flush=True)


def every_row() -> list[str]:
    """Return all rows but those of large networks."""
    from tools.bench.suite import rows

    return [name for name in rows() if not name.startswith("light ")]


if __name__ == "__main__":
    main()
