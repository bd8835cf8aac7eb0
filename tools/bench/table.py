"""Write docs/speed_tables.md from the measurements of each processor in tools/bench/results/.

    python -m tools.bench.table            write the page
    python -m tools.bench.table --check    exit 1 if the page is not what the measurements say

`python -m tools.bench.all --write` measures, and writes the page too. The cause of a row that a peer wins stands in
tools/bench/causes.json: a sentence, how it was measured, and on which processor.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.bench.roofline import bound
from tools.bench.rows import ONLY_FORWARD
from tools.bench.work import Work

PAGE = Path(__file__).parents[2] / "docs" / "speed_tables.md"
RESULTS = Path(__file__).parent / "results"
CAUSES = Path(__file__).parent / "causes.json"
LOST = 0.9
"""A peer that takes less than this part of our time wins the row."""
PEERS = ("torch eager", "torch.compile", "jax.jit", "autograd")
"""The peers that have a column of their own."""
Record = Mapping[str, Any]

HEAD = """# Speed, processor by processor

<!-- Written by `python -m tools.bench.all --write` from tools/bench/results/ and tools/bench/causes.json. -->

A cell of a peer is its time over ours; below 1 we are slower. Both took turns in one process, and the ratio is that of
the least times of 5 to 31 rounds. Behind it stand the quartiles of the rounds' ratios where they are more than 10 %
apart. It is bold where we lose: where this ratio and the median of the rounds' ratios are below 0.9. Results were
compared with ours before anything was timed. "Ours" is the least time of one call, value and gradient if nothing else
is said, of the file in onnxruntime with its inputs bound.

"Limit" is our time over the least that this processor needs for the work: the operations of products, the bytes of
inputs and results, or the elements of transcendental functions, whichever takes longest at the best rates of any
library, measured in the same run (`tools/bench/roofline.py`). "Calls" is the part of our time that onnxruntime takes to
call so many kernels, at what a call on one number takes. A row that is lost has its cause below the table.

On one core, times are those of the processor, on more those of the clock. The machines did other work too while these
were measured, so the ratios say more than the times, and those on one core more than others.
"""


def load() -> dict[str, Any]:
    """Return the measurements of each processor, by the name of their file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


def causes() -> dict[str, Record]:
    """Return the records of causes by row."""
    found: dict[str, Record] = json.loads(CAUSES.read_text(encoding="utf-8")) if CAUSES.exists() else {}
    return found


def render(results: Mapping[str, Record], known: Mapping[str, Record]) -> str:
    """Return the page's text."""
    return HEAD + "".join(_processor(found, known) for found in results.values())


def _processor(found: Record, known: Mapping[str, Record]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    parts = [f"\n## {found['processor']}\n\nMeasured on {found['date']} with {versions}.\n"]
    for cores in sorted(found["limits"], key=int):
        parts.append(f"\n### {said_cores(cores)}\n\n{limits_of(found['limits'][cores])}\n")
        rows = {name: row[cores] for name, row in found["rows"].items() if cores in row}
        parts.append("\n" + table(COLUMNS, [cells(name, row, found["limits"][cores]) for name, row in rows.items()]))
        parts.append(_lost(rows, known))
    return "".join(parts)


def said_cores(cores: str) -> str:
    """Return the title of a part."""
    return "One core" if cores == "1" else f"{cores} cores"


def limits_of(limits: Record) -> str:
    """Return the limits in a paragraph: the best product and function of each library, memory, a call."""
    parts = []
    for part, unit in (("products", "GFLOP/s"), ("functions", "10^9 elements/s")):
        best: dict[tuple[str, str], float] = {}
        for name, rate in limits[part].items():
            library, dtype, _ = name.split()
            best[library, dtype] = max(rate, best.get((library, dtype), 0.0))
        told = ", ".join(f"{library} {dtype} {rate:.3g}" for (library, dtype), rate in best.items())
        parts.append(f"{part.capitalize()}, at best: {told} {unit}.")
    told = ", ".join(f"{name.split()[0]} {rate:.3g}" for name, rate in limits["memory"].items())
    parts.append(f"Memory, copying: {told} GB/s. A call of a kernel: {limits['call']:.2g} us.")
    return "\n".join(parts)


COLUMNS = ("bench", "dtype", "size", "ours, ms", "limit", "calls", *PEERS, "others")


def cells(name: str, row: Record, limits: Record) -> tuple[str, ...]:
    """Return the cells of a row."""
    others = [f"{peer} {ratio(found)}" for peer, found in row["peers"].items() if peer not in PEERS]
    usual = [ratio(row["peers"][peer]) if peer in row["peers"] else "" for peer in PEERS]
    return (name, row["dtype"], row["size"], milliseconds(row["ms"]), *bounds(row, limits), *usual, ", ".join(others))


def ratio(found: Record) -> str:
    """Return the cell of a peer: a ratio, its quartiles where they are apart, or why there is none."""
    if "ratio" not in found:
        return str(found["missing"]).partition(":")[0]
    told = f"{found['ratio']:.2f}"
    if found["high"] - found["low"] > 0.1 * found["ratio"]:
        told += f" ({found['low']:.2f} to {found['high']:.2f})"
    return f"**{told}**" if is_lost(found) else told


def is_lost(found: Record) -> bool:
    """Whether a peer takes less time than we do, by the least times and by the median of the rounds' ratios."""
    return bool("ratio" in found and max(found["ratio"], found["median"]) < LOST)


def milliseconds(ms: float) -> str:
    """Return a time with three digits."""
    return f"{ms:.3g}" if ms < 1000 else f"{ms:.0f}"


def bounds(row: Record, limits: Record) -> tuple[str, str]:
    """Return our time over its bound with what sets it, and the part of it that calls of kernels take.

    Nothing stands where the work was not counted, and for calls that take less than 5 %.
    """
    counted = row["work"]
    if not counted["calls"]:
        return "", ""
    least = bound(Work(counted["products"], counted["functions"], counted["moved"], counted["calls"]), limits)
    part = 1e3 * least.calls / row["ms"]
    over = f"{row['ms'] / (1e3 * least.seconds):.3g} x {least.by}"
    return over, f"{100 * min(part, 1.0):.0f} %" if part >= 0.05 else ""


def lost(row: Record) -> list[str]:
    """Return the peers that win the row, those that compute a gradient."""
    return [peer for peer, found in row["peers"].items() if ONLY_FORWARD not in peer and found.get("ratio", 1.0) < LOST]


def _lost(rows: Mapping[str, Record], known: Mapping[str, Record]) -> str:
    """Return the list of causes of the rows that are lost."""
    lines = [f"* `{name}`, {', '.join(peers)}: {cause(name, row, known)}\n" for name, row, peers in losses(rows)]
    return f"\nRows below {LOST}, and why:\n\n{''.join(lines)}" if lines else ""


def losses(rows: Mapping[str, Record]) -> Iterator[tuple[str, Record, list[str]]]:
    """Return the rows that are lost, with the peers that win them."""
    for name, row in rows.items():
        if peers := lost(row):
            yield name, row, peers


def cause(name: str, row: Record, known: Mapping[str, Record]) -> str:
    """Return the recorded cause of a row, and where its time goes."""
    told = where(row)
    if name not in known:
        return f"not yet known.{told}"
    return f"{known[name]['cause']} Measured: {known[name]['measured']}{told}"


def where(row: Record) -> str:
    """Return how many kernels a row calls, and which take most of the time in them; "" if that was not counted."""
    count = row["work"]["calls"]
    if not count:
        return ""
    shares = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in row["shares"].items())
    return f" {count:,} calls of kernels, {1e3 * row['ms'] / count:.2g} us each; time in kernels: {shares}."


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [tuple(head), ("---",) * len(head), *(tuple(row) for row in rows)]
    return "".join(f"| {' | '.join(cell.replace('|', ' ') for cell in cells)} |\n" for cells in lines)


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args(arguments)
    text = render(load(), causes())
    if asked.check:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
