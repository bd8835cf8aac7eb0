"""Change one place of a module at a time and see whether the nearest tests fail: what survives shows a missing test.

    python -m tools.mutants rewrites [onnx/ranks.py] [--count 20] [--seed 0] [--jobs 1] [--files 8] [--seconds 60]
    python -m tools.mutants rewrites --list

An area is a folder or a module of the package, `rewrites` or `rewrites/cse.py`. Of each area, `--count` mutants are
drawn by the seed: another comparison, boundary, operator, constant, condition, result or order of arguments, a `not` or
a statement less. Each runs in a copy of the working tree against at most `--files` files of tests, one after the other
until one fails or `--seconds` are over: the one at the mirrored path, those that import the module, those of the
mirrored room, those of the journeys. What failed is run again without the change, so that it says something.
The report has, by area, how many were killed and which ones survived, timed out or have no tests. `--line` tries every
change of one line instead. A survivor that computes the same is no fault of the tests: somebody has to read it.
"""

import argparse
import concurrent.futures
import queue
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutating.changes import Change, changes, sample
from tools.mutating.running import Copy, Limits, Outcome

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module of an area with one change. `before` is its source without."""

    area: str
    module: Path
    before: str
    change: Change

    def __str__(self) -> str:
        return f"{self.module}:{self.change.line}  {self.change.kind}: {self.change.told(self.before)}"


def mutants(root: Path, package: str, area: str, count: int, seed: int) -> list[Mutant]:
    """Return some mutants of an area. Raises FileNotFoundError where there is no such folder or module."""
    place = root / package / area
    if not place.exists():
        raise FileNotFoundError(f"{package}/{area} is neither a folder nor a module")
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    sources = {path.relative_to(root): path.read_text() for path in paths}
    return [Mutant(area, path, sources[path], change) for path, change in sample(sources, count, seed)]


def mutants_of_line(root: Path, package: str, area: str, line: int) -> list[Mutant]:
    """Return every mutant of one line of a module."""
    source = (root / package / area).read_text()
    found = (change for change in changes(source) if change.line == line)
    return [Mutant(area, Path(package, area), source, change) for change in found]


def tried(root: Path, found: Iterable[Mutant], limits: Limits, jobs: int) -> Iterator[tuple[Mutant, Outcome]]:
    """Yield each mutant with what the tests say of it, as it ends; `jobs` at a time, each in a copy of the tree."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for job in range(jobs):
            copies.put(Copy.of(root, Path(folder) / str(job), limits))

        def one(mutant: Mutant) -> tuple[Mutant, Outcome]:
            copy = copies.get()
            try:
                return mutant, copy.outcome(mutant.module, mutant.change)
            finally:
                copies.put(copy)

        running = [pool.submit(one, mutant) for mutant in found]
        for done in concurrent.futures.as_completed(running):
            yield done.result()


def report(outcomes: Sequence[tuple[Mutant, Outcome]]) -> str:
    """Return the counts by area, each followed by the mutants that were not killed."""
    lines = []
    for area in dict.fromkeys(mutant.area for mutant, _ in outcomes):
        own = [(mutant, outcome) for mutant, outcome in outcomes if mutant.area == area]
        counts = Counter(outcome for _, outcome in own)
        words = ", ".join(f"{counts[name]} {name}" for name in ("survived", "timed out", "untested") if counts[name])
        lines.append(f"{area}: {counts['killed']} of {len(own)} killed{', ' + words if words else ''}")
        left = sorted((str(m.module), m.change.line, f"{o:<9}  {m}") for m, o in own if o != "killed")
        lines += [f"  {text}" for _, _, text in left]
    return "\n".join(lines)


def arguments(line: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line, read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="+", help="folders or modules of the package")
    parser.add_argument("--count", type=int, default=20, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="how many run at a time")
    parser.add_argument("--files", type=int, default=8, help="the most files of tests of a mutant")
    parser.add_argument("--seconds", type=float, default=60.0, help="after which no further file is begun")
    parser.add_argument("--line", type=int, help="every change of this line of one module")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree, by default this one")
    parser.add_argument("--package", default="primsplit")
    return parser.parse_args(line)


def main(line: Sequence[str] | None = None) -> int:
    """Make and run mutants; return 1 where some were not killed."""
    said = arguments(line)
    found: list[Mutant] = []
    for area in (area.removeprefix(f"{said.package}/").rstrip("/") for area in said.areas):
        if said.line is None:
            found += mutants(said.root, said.package, area, said.count, said.seed)
        else:
            found += mutants_of_line(said.root, said.package, area, said.line)
    if said.list:
        print(*found, sep="\n")
        return 0
    outcomes = []
    for mutant, outcome in tried(said.root, found, Limits(said.files, said.seconds), said.jobs):
        print(f"{outcome:<9}  {mutant}", flush=True)
        outcomes.append((mutant, outcome))
    print(report(outcomes))
    return int(any(outcome != "killed" for _, outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
