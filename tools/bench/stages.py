"""Measure what each stage for speed gains: the bench row that the pipeline names, with the stage and without it.

    python -m tools.bench.stages [STAGE ...] [--row "fixed mlp" ...] [--all-rows] [--quick] [--json]

The file with all stages and the file without the one are loaded in one process on one core and take turns; the gain is
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

from primsplit.targets import finish as finishing
from primsplit.targets.pipeline import STAGES
from tools.bench.peers import use_cores
from tools.bench.rows import Ours, distance
from tools.bench.timing import clock_of, ratios, take_turns

NAME = "STAGES"
"""The name by which `finish` reads the table of stages."""
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
    setattr(finishing, NAME, tuple(s for s in STAGES if s.name != stage))
    try:
        yield
    finally:
        setattr(finishing, NAME, STAGES)


def files(row: str, stage: str) -> tuple[Ours, Ours]:
    """Return our side of a row with all stages and without the one."""
    from tools.bench.suite import rows

    found = rows()[row]
    whole = found.ours(1)
    with without(stage):
        return whole, found.ours(1)


def nodes(ours: Ours) -> Any:
    """Return the file's graph, to see whether a stage changes it."""
    return ours.program.to_onnx().graph.SerializeToString(deterministic=True)


def measured(stage: str, row: str, *, is_quick: bool = False, only_changes: bool = False) -> dict[str, Any]:
    """Return the gain of a stage in a row, with its quartiles; "changes" is False where the file is the same."""
    whole, less = files(row, stage)
    told: dict[str, Any] = {"stage": stage, "row": row}
    before = nodes(whole)
    with without(stage):
        changes = nodes(less) != before
    if not changes or only_changes:
        return {**told, "changes": changes}
    wrong = distance(whole.call(), less.call())
    rounds, budget = (5, 0.05) if is_quick else (41, 3.0)
    calls = {"with": whole.call, "without": less.call}
    samples = take_turns(calls, rounds=rounds, budget=budget, clock=clock_of(1))
    of, least = ratios(samples["without"], samples["with"]), min(samples["without"]) / min(samples["with"])
    return {
        **told, "changes": True, "differs": wrong, "ms": 1e3 * min(samples["with"]), "gain": round(least - 1, 4),
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


def in_own_process(stage: str, row: str, flags: Sequence[str]) -> dict[str, Any]:
    """Return the measurement of a stage in a row, taken in a process of its own."""
    line = [sys.executable, "-m", "tools.bench.stages", stage, "--row", row, "--here", *flags]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PRIMSPLIT_THREADS": "1"}
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=LONGEST, env=env)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        return {"stage": stage, "row": row, "failed": f"{type(error).__name__}"}
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
        (stage,), (row,) = asked.stages, asked.row
        print(json.dumps(measured(stage, row, is_quick=asked.quick, only_changes=asked.changes)))
        return
    flags = [f"--{name}" for name in ("quick", "changes") if getattr(asked, name)]
    for stage, bench in stages().items():
        if asked.stages and stage not in asked.stages:
            continue
        rows = asked.row or (every_row() if asked.all_rows else rows_of(bench))
        if not rows:
            print(f"{stage:26s}names no row", flush=True)
        for row in rows:
            found = in_own_process(stage, row, flags)
            print(json.dumps(found) if asked.json else told(found), flush=True)


def every_row() -> list[str]:
    """Return all rows but those of large networks."""
    from tools.bench.suite import rows

    return [name for name in rows() if not name.startswith("light ")]


if __name__ == "__main__":
    main()
