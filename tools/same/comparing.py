"""Compare two written corpora, and tell the first lines that differ."""

import difflib
import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import onnx
import onnx.printer

from tools.same.writing import INDEX

SHOWN = 12
"""The most lines of a difference that are shown."""
FILES = 20
"""The most differing files whose lines are shown."""


@dataclass
class Differences:
    """The common and the different parts of two corpora: names of entries, and of files as ENTRY/FILE."""

    same: Counter[str] = field(default_factory=Counter)
    changed: list[tuple[Path, Path]] = field(default_factory=list)
    only: list[str] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        return bool(self.changed or self.only)


def compare(before: Path, now: Path) -> Differences:
    """Compare the digests of all files of two folders."""
    found = Differences()
    old, new = _entries(before), _entries(now)
    found.only += [f"only before: {name}" for name in sorted(old.keys() - new.keys())]
    found.only += [f"only now: {name}" for name in sorted(new.keys() - old.keys())]
    for name in sorted(old.keys() & new.keys()):
        for file in sorted(old[name].keys() | new[name].keys()):
            if file not in old[name] or file not in new[name]:
                found.only.append(f"only {'before' if file in old[name] else 'now'}: {name}/{file}")
            elif old[name][file] != new[name][file]:
                found.changed.append((before / name / file, now / name / file))
            else:
                found.same[name.split("/", 1)[0]] += 1
    return found


def _entries(folder: Path) -> dict[str, dict[str, str]]:
    found = sorted(folder.rglob(INDEX))
    return {str(path.parent.relative_to(folder)): json.loads(path.read_text()) for path in found}


def told(found: Differences) -> str:
    """The differences as text."""
    lines = list(found.only)
    for old, new in found.changed:
        lines.append(f"differs: {'/'.join(new.parts[-3:])}")
        if len(lines) < FILES * SHOWN:
            lines += _first_lines(old, new)
    same = ", ".join(f"{count} of {part}" for part, count in sorted(found.same.items()))
    return "\n".join(
        [*lines, f"same files: {same or 'none'}; {len(found.changed)} differ, {len(found.only)} on one side"]
    )


def _first_lines(old: Path, new: Path) -> list[str]:
    if not old.exists() or not new.exists():
        return ["  (too large to be kept)"]
    lines = difflib.unified_diff(_text(old), _text(new), lineterm="", n=0)
    return [f"  {line}" for line in islice(lines, 2, 2 + SHOWN)] or ["  (the bytes alone differ)"]


def _text(path: Path) -> list[str]:
    if path.suffix == ".onnx":
        return onnx.printer.to_text(onnx.load(path, load_external_data=False)).splitlines()
    return path.read_text(errors="replace").splitlines()
