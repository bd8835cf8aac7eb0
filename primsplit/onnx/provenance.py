"""Tell in a file where its nodes come from: in their names, and in one table of the user's lines.

```
def loss(w, x):
    hidden = np.tanh(x @ w)   # mlp.py:13   ->   nodes `mlp.py:13 MatMul`, `mlp.py:13 hidden/Tanh`
```

Every runtime, profiler and viewer shows the name of a node: the user's line, then the variable that it computes or what
it is a part of, then the operator. The name of a node that fails where the user's function raises is that error:
`ValueError: volatility must be positive (price.py:3)`. The table is in the model's metadata under `primsplit.lines`:
for each line `mlp.py:13` the function, and with the provenance "full" the text of the line, once.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx

from primsplit.ir import Op
from primsplit.ir.errors import Line, Place
from primsplit.ir.plain_text import in_one_line
from primsplit.ir.providers import Provenance
from primsplit.ir.reasons import RAISES
from primsplit.onnx.protobufs import graphs

LINES = "primsplit.lines"
"""The key of the metadata."""
CALL = "call"
"""The key of a node's metadata that names the call of linear algebra that the node is a part of: `cholesky 1`."""
LONGEST_ERROR = 200
"""The most characters of a user's error in the name of a node."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The places of nodes by their names, and the remarks of those that stand for an error of the user's."""

    places: dict[str, Place] = field(default_factory=dict)
    raised: dict[str, str] = field(default_factory=dict)

    def named_in(self, text: str) -> str:
        """Return the last of these nodes that a message of onnxruntime names; "" if it names none."""
        for found in reversed([*BEFORE_A_NAME.finditer(text)]):
            ends = (m.start() for m in re.finditer(r"['\")]", text[found.end() :]))
            names = (text[found.end() :][:end] for end in ends)
            known = [name for name in names if name in self.places or name in self.raised]
            if known:
                return known[-1]
        return ""


BEFORE_A_NAME = re.compile(r"Name:\s*'|[Nn]ode:? ?[('\"]|name ['\"]")


class NodeNames:
    """The names that are given to a model's nodes, the lines that they tell of, and what is known of each."""

    def __init__(self, provenance: Provenance = "full") -> None:
        self.provenance = provenance
        self.nodes = Nodes()
        self._files: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._known: dict[Place, str] = {}
        self._calls: dict[str, int] = {}

    def give(self, op: Op, kind: str, variable: str) -> str:
        """Return a new name for the node of an op, which computes this variable of the user's ("" for none)."""
        if self.provenance == "none":
            return self._unique(kind, "_")
        where = "" if op.place is None else self._line(op.place)
        if op.remark.startswith(RAISES) and kind == "Gather":
            error = _short(op.remark.removeprefix(RAISES))
            name = self._unique(f"{error} ({where})" if where else error, " ")
            self.nodes.raised[name] = op.remark
        else:
            part = variable or ("check" if op.remark.startswith(RAISES) else op.remark.replace("call::", ""))
            name = self._unique(f"{where} {part}/{kind}".removeprefix(" ") if part else f"{where} {kind}".strip(), "_")
        if op.place is not None:
            self.nodes.places[name] = op.place
        return name

    def call(self, op: Op) -> str:
        """Return the call of linear algebra that an op is a part of, numbered by first use; "" for none."""
        told = "" if op.place is None or self.provenance == "none" else op.place.call
        return f"{told.partition(' ')[0]} {self._calls.setdefault(told, len(self._calls) + 1)}" if told else ""

    def _unique(self, stem: str, between: str) -> str:
        """Return the stem as a name, numbered from its second time on."""
        name = _plain(stem)
        number = self._counts[name] = self._counts.get(name, 0) + 1
        return name if number == 1 else self._unique(f"{name}{between}{number}", between)

    def _line(self, place: Place) -> str:
        """Return `mlp.py:13`, and keep the line for the table; "" for a place in no file."""
        known = self._known.get(place.whole_line)
        if known is not None:
            return known
        line = place.written or Line(place.filename, place.line, place.function, "")
        found = f"{self._file(line.filename)}:{line.line}" if line.filename else ""
        if found and found not in self._lines:
            text = [place.source] if self.provenance == "full" else []
            self._lines[found] = [*map(in_one_line, (line.function, *text))]
        self._known[place.whole_line] = found
        return found

    def _file(self, filename: str) -> str:
        """Return the name of a file without its folders, or with as many as tell it from the others."""
        known = self._files.get(filename)
        if known is not None:
            return known
        folder, name = os.path.split(filename)
        name = _plain(name)
        while name in self._files.values() and folder not in {"", os.path.dirname(folder)}:
            folder, inner = os.path.split(folder)
            name = f"{_plain(inner)}/{name}"
        self._files[filename] = name
        return name

    def told(self) -> dict[str, str]:
        """Return the model's metadata with the lines; nothing if there are none."""
        return {LINES: json.dumps(self._lines, ensure_ascii=False, separators=(",", ":"))} if self._lines else {}


def _plain(text: str) -> str:
    """Return the text on one line, without what JSON escapes: profilers write names as they are."""
    return in_one_line(text).replace('"', "'").replace("\\", "/")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_ERROR else text[: LONGEST_ERROR - 3].rstrip() + "..."


def read_lines(model: onnx.ModelProto) -> dict[str, Line]:
    """Return the lines in a file's metadata by `file:line`; none if they are something else."""
    try:
        told = next((p.value for p in model.metadata_props if p.key == LINES), "{}")
        found = json.loads(told)
    except (ValueError, RecursionError):
        return {}
    rows = found.items() if isinstance(found, dict) else ()
    return {key: line for key, row in rows if (line := _read(key, row)) is not None}


def _read(key: str, row: Any) -> Line | None:
    file, colon, number = key.rpartition(":")
    is_row = isinstance(row, list) and 1 <= len(row) <= 2 and all(isinstance(text, str) for text in row)
    if not colon or not number.isdecimal() or len(number) > 9 or not is_row:
        return None
    return Line(file, int(number), row[0], row[1] if len(row) == 2 else "")


def line_of(name: str, lines: Mapping[str, Line]) -> Line | None:
    """Return the user's line that a node of this name was written for, if it is in the file's table."""
    if not lines:
        return None
    first = next((name[:i] for i in _spaces(name) if name[:i] in lines), "")
    if first:
        return lines[first]
    start = name.rfind(" (")
    return lines.get(name[start + 2 : name.rfind(")")]) if start >= 0 else None


def nodes_of_model(model: onnx.ModelProto) -> Nodes:
    """Return what a model tells of its nodes."""
    lines, found = read_lines(model), Nodes()
    for node in (node for graph in graphs(model.graph) for node in graph.node):
        line = line_of(node.name, lines)
        if line is not None:
            found.places[node.name] = Place(line.filename, line.line, line.function, written=line)
        for told in node.metadata_props:
            if told.key == "remark" and told.value.startswith(RAISES):
                found.raised[node.name] = told.value
    return found


def _spaces(name: str) -> list[int]:
    return [i for i, c in enumerate(name) if c == " "]
