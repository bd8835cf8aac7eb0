"""Write docs/runtime_faults.md from the records of faults that stand beside the code.

    python -m tools.faults_page            write the page
    python -m tools.faults_page --check    exit 1 when the written page is not what the records say

Records are made by `fault` and `known_fault` of `primsplit/ir/runtimes.py`. The versions in which a fault was tried are
those of tools/runtime_faults.json, which `python -m tools.runtime_faults VERSION --write` adds to.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from primsplit.ir.runtimes import FAULTS, Fault, version_of
from tools.house import PACKAGE, modules
from tools.runtime_faults import RESULTS

PAGE = Path(__file__).parents[1] / "docs" / "runtime_faults.md"
KINDS = {
    "wrong": "Wrong results without an error",
    "aborts": "The process ends, or hangs",
    "refuses": "Refused when a file is loaded or run",
    "slow": "Slow",
}
HEAD = """# Faults of onnxruntime

<!-- Written by `python -m tools.faults_page` from the records in the code: change those. -->

Files that primsplit writes run in every onnxruntime from 1.20 on, so they go around each fault below that has a module
in the column "worked around in". A file for newer versions alone goes around less:

```python
import numpy as np
import primsplit as ps

ps.export(np.cos, ps.spec("float64", ["N"]), path="cosine.onnx", mode="value", target="onnxruntime>=1.32")
```

On the command line it is `--target "onnxruntime>=1.32"`. That leaves out what works around faults that are mended
before that version, where a stage on the way to the file does it. What is done while a function is recorded is done for
all versions.

"Versions" says which versions have the fault, and "tried" in which the smallest model that shows it
(`tools/fault_models/`) was run, on x86-64 without a GPU: `python -m tools.runtime_faults 1.20.1` runs them all in a
version of its own. A fault that depends on the processor, on threads or on what memory held may not show. Each fault
has a test of what works around it. The tests run with the oldest libraries that `pyproject.toml` admits too: what those
refuse aloud is skipped with the reason (`tests/refusals.py`), and what they compute otherwise asks for a version
(`tests/versions.py`).
"""


def main(arguments: Sequence[str]) -> int:
    """Write or check the page; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the written page instead of writing it")
    asked = parser.parse_args(arguments)
    text = render(records(), json.loads(RESULTS.read_text()))
    if asked.check:
        return int(PAGE.read_text() != text)
    PAGE.write_text(text)
    return 0


def records() -> list[Fault]:
    """Return the faults that the package records, by name: the modules that record some are imported."""
    for module in modules():
        if "fault(" in module.path.read_text():
            importlib.import_module(module.name)
    return [fault for _, fault in sorted(FAULTS.items()) if not fault.cure or module_of(fault)]


def render(faults: Sequence[Fault], results: Mapping[str, Mapping[str, str]]) -> str:
    """The text of the page."""
    parts = [HEAD]
    for kind, title in KINDS.items():
        rows = [row(fault, results.get(fault.name, {})) for fault in faults if fault.kind == kind and fault.cure]
        parts.append(f"\n## {title}\n\n{table(('worked around in', *COLUMNS), rows)}")
    rows = [row(fault, results.get(fault.name, {}))[1:] for fault in faults if not fault.cure]
    parts.append(f"\n## Not worked around\n\n{table(COLUMNS, rows)}")
    return "".join(parts)


COLUMNS = ("operators", "what happens", "versions", "tried")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, sorted by what comes first."""
    lines = [tuple(head), ("---",) * len(head), *sorted(map(tuple, rows))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def row(fault: Fault, results: Mapping[str, str]) -> tuple[str, ...]:
    """The cells of one fault."""
    runtime = "" if fault.runtime == "onnxruntime" else f"{fault.runtime}: "
    return f"`{module_of(fault)}`", ", ".join(fault.operators), runtime + fault.says, versions(fault), tried(results)


def module_of(fault: Fault) -> str:
    """Return the file in the package that works around a fault; "" if there is none, as for a user's."""
    parts = fault.cure.split(".")
    paths = ("/".join(parts[:count]) + ".py" for count in range(len(parts), 0, -1))
    return next((path for path in paths if (PACKAGE / path).exists()), "")


def versions(fault: Fault) -> str:
    """Which versions have a fault."""
    if fault.since and fault.before:
        return f"{fault.since} until before {fault.before}"
    if fault.before:
        return f"before {fault.before}"
    return f"from {fault.since} on" if fault.since else "all"


def tried(results: Mapping[str, str]) -> str:
    """In which versions the model was run, and what it did there: neighbours that agree as one."""
    ordered = sorted(results.items(), key=lambda found: version_of(found[0]))
    spans: list[list[str]] = []
    for version, what in ordered:
        if spans and spans[-1][2] == what:
            spans[-1][1] = version
        else:
            spans.append([version, version, what])
    return "; ".join(f"{what} in {first}{'' if first == last else f' to {last}'}" for first, last, what in spans)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
