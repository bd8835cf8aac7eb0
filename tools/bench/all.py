"""Measure all benches beside all installed peers, on one core and on two, with the distance to the processor's limits.

    python -m tools.bench.all [--only NAME ...] [--cores 1 2] [--quick] [--json] [--write] [--without PEER]

`--only` keeps rows whose name begins with one of the names. `--quick` takes few repeats, `--budget` sets the seconds
for each alternative. `--json` prints the measurements; `--write` adds them to those of this processor in
tools/bench/results/, and writes docs/speed_tables.md. Each row has a process of its own on so many cores. There the
results of every peer are compared with ours, and the times are taken in turns. A peer whose library is not installed is
"absent". The limits are measured first, by `roofline.py`. Needs `pip install -e ".[compare]"` for the peers.
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tools.bench import roofline, table
from tools.bench.calls import Call, as_numbers
from tools.bench.peers import use_cores
from tools.bench.rows import Row, distance, is_installed, library_of
from tools.bench.timing import clock_of, ratios, summary, take_turns
from tools.bench.work import Work, work_of

VERSIONS = ("primsplit", "onnxruntime", "numpy", "scipy", "torch", "jax", "autograd")
LONGEST = 600
"""Seconds for the process of a row."""
FEWEST, MOST = 5, 31
"""Rounds in which all alternatives of a row take turns."""


def main() -> None:
    """Measure the rows that were asked for, or be the process of one."""
    from tools.bench.suite import rows

    asked = arguments()
    if asked.row:
        use_cores(asked.here)
        row = rows()[asked.row]
        row = row if asked.budget is None else replace(row, budget=asked.budget)
        print(json.dumps(measured(row, asked.here, asked.without, is_quick=asked.quick)))
        return
    found = measure(asked)
    if asked.json:
        print(json.dumps(found))
    else:
        print(table.render({"": found}, table.causes()))


def arguments() -> argparse.Namespace:
    """The command line, read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--without", action="append", default=[], metavar="PEER", help="do not run this peer")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--budget", type=float, help="seconds for each alternative, rather than those of the rows")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--here", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of the rows that were asked for, on each number of cores."""
    from tools.bench.suite import rows

    names = [name for name in rows() if not asked.only or any(name.startswith(only) for only in asked.only)]
    if not names:
        raise SystemExit(f"no row begins with {' or '.join(asked.only)}")
    found: dict[str, Any] = {
        "processor": roofline.processor(),
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "versions": {name: version for name in VERSIONS if (version := _version(name))},
        "limits": {},
        "rows": {name: {} for name in names},
    }
    quick = ["--quick"] if asked.quick else []
    budget = [] if asked.budget is None else ["--budget", str(asked.budget)]
    for cores in asked.cores:
        line = ["-m", "tools.bench.roofline", "--json", "--cores", str(cores), *quick]
        found["limits"][str(cores)] = json.loads(_run(line, cores))
        for name in names:
            without = [word for peer in asked.without for word in ("--without", peer)]
            line = ["-m", "tools.bench.all", "--row", name, "--here", str(cores), *without, *budget, *quick]
            start = time.perf_counter()
            try:
                row = json.loads(_run(line, cores).splitlines()[-1])
            except (subprocess.SubprocessError, ValueError, IndexError) as error:
                print(f"{name}, {cores}: {_first_line(error)}", file=sys.stderr, flush=True)
                continue
            found["rows"][name][str(cores)] = row
            if asked.write:
                write(found)
            print(_progress(name, cores, row, time.perf_counter() - start), file=sys.stderr, flush=True)
    return found


def _run(line: Sequence[str], cores: int) -> str:
    """Return the output of a process of Python whose libraries have so many threads. Raises what subprocess raises."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PRIMSPLIT_THREADS")
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **dict.fromkeys(names, str(cores))}
    done = subprocess.run(
        [sys.executable, *line], capture_output=True, text=True, check=False, timeout=LONGEST, env=env
    )
    if done.returncode:
        raise subprocess.SubprocessError(done.stderr.strip().splitlines()[-1:] or "no message")
    return done.stdout


def _progress(name: str, cores: int, row: Mapping[str, Any], seconds: float) -> str:
    told = ", ".join(f"{peer} {table.ratio(found)}" for peer, found in row["peers"].items())
    return f"{name}, {cores}: {row['ms']:.3g} ms; {told} ({seconds:.0f} s)"


def measured(row: Row, threads: int, without: Sequence[str] = (), *, is_quick: bool = False) -> dict[str, Any]:
    """Return our time, its parts, and each peer's ratio or the reason why there is none."""
    ours = row.ours(threads)
    expected = ours.call()
    calls: dict[str, Call] = {"": ours.call}
    peers: dict[str, dict[str, Any]] = {}
    for peer, make in row.peers.items():
        if peer in without:
            peers[peer] = {"missing": "not run"}
            continue
        found = checked(peer, lambda make=make: make(threads), expected, row.tolerance)
        if isinstance(found, str):
            peers[peer] = {"missing": found}
        else:
            calls[peer], peers[peer] = found, {}
    budget = 0.05 if is_quick else row.budget
    rounds = _rounds(calls, budget, is_quick=is_quick)
    samples = take_turns(calls, rounds=rounds, budget=budget, clock=clock_of(threads))
    for peer in calls:
        if peer:
            of = ratios(samples[peer], samples[""])
            told = {"ratio": min(samples[peer]) / min(samples[""]), "median": of.median, "low": of.low, "high": of.high}
            peers[peer] = {key: round(number, 4) for key, number in told.items()}
    mine = summary(samples[""])
    work = Work() if ours.program is None else work_of(ours.program, ours.arrays, threads)
    return {
        "dtype": row.dtype or str(as_numbers(expected)[0].dtype), "size": row.size,
        "ms": _rounded(1e3 * mine.least), "median_ms": _rounded(1e3 * mine.median), "spread": round(mine.spread, 3),
        "peers": {peer: peers[peer] for peer in row.peers},
        "work": {"products": work.products, "functions": work.functions, "moved": work.moved, "calls": work.calls},
        "shares": shares(work),
    }  # fmt: skip


def checked(peer: str, make: Any, expected: Any, tolerance: float) -> Call | str:
    """Return the peer's call once its results are found to be ours; otherwise why it is not compared."""
    if not is_installed(library_of(peer)):
        return "absent"
    try:
        with contextlib.redirect_stderr(None):
            call: Call = make()
            wrong = distance(expected, call())
    except Exception as error:  # noqa: BLE001  # a peer's failure, of any class, is a cell of the table
        return f"cannot: {_first_line(error)}"
    return call if wrong <= tolerance else f"differs: by {wrong:.0e}"


def _rounds(calls: Mapping[str, Call], budget: float, *, is_quick: bool) -> int:
    """Return how many rounds of one call each fill the budget of all, within bounds; each was called before."""
    if is_quick:
        return FEWEST
    start = time.perf_counter()
    for call in calls.values():
        call()
    return rounds_for(time.perf_counter() - start, budget * len(calls))


def rounds_for(once: float, budget: float) -> int:
    """Return how many rounds of `once` seconds fill the budget, from FEWEST to MOST."""
    return max(FEWEST, min(MOST, int(budget / max(once, 1e-9))))


def shares(work: Work, most: int = 4) -> dict[str, float]:
    """Return the operators that take most of the time in kernels, with their parts of it."""
    total = sum(work.seconds.values())
    ranked = sorted(work.seconds.items(), key=lambda item: -item[1])[:most]
    return {kind: round(seconds / total, 3) for kind, seconds in ranked if seconds > 0.05 * total}


def merged(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> dict[str, Any]:
    """Return a processor's measurements with new ones in them: rows and cores that were not measured stay."""
    from tools.bench.suite import rows

    if before is None:
        return dict(now)
    names = [name for name in rows() if name in before["rows"] or name in now["rows"]]
    kept = {name: {**before["rows"].get(name, {}), **now["rows"].get(name, {})} for name in names}
    return {**now, "limits": {**before["limits"], **now["limits"]}, "rows": kept}


def write(found: Mapping[str, Any]) -> None:
    """Add the measurements to those of the processor, and write the page."""
    path = table.RESULTS / f"{slug(found['processor'])}.json"
    path.parent.mkdir(exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    path.write_text(json.dumps(merged(before, found), indent=1) + "\n", encoding="utf-8")
    table.main([])


def slug(name: str) -> str:
    """Return a name for a file: "AMD EPYC, family 25" is amd_epyc_family_25."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _rounded(number: float) -> float:
    return float(f"{number:.4g}")


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:80]}"


if __name__ == "__main__":
    main()
