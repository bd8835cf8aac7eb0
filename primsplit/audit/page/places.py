"""Collect the user's lines that the nodes of files come from: by file, in the order of their numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from primsplit.audit.written import Written
from primsplit.ir import Op
from primsplit.ir.errors import Place
from primsplit.ir.plain_text import in_one_line


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's. Of a node of a model, `text` is its name."""

    file: str
    number: int
    function: str
    text: str

    @property
    def where(self) -> str:
        """`mlp.py:13`."""
        return f"{self.file}:{self.number}"


class Lines:
    """The user's lines of some files, each with its position in the list."""

    def __init__(self, files: Sequence[Written]) -> None:
        found = dict.fromkeys(line for f in files for op in f.ops() if (line := _line(op)) is not None)
        order = {name: i for i, name in enumerate(dict.fromkeys(line.file for line in found))}
        self.all = sorted(found, key=lambda line: (order[line.file], line.number))
        self._positions = {line: i for i, line in enumerate(self.all)}

    def of(self, op: Op) -> int | None:
        """Return the position of the line of an op; None if it has none."""
        line = _line(op)
        return None if line is None else self._positions.get(line)

    def of_all(self, ops: Iterable[Op]) -> list[int]:
        """Return the positions of the lines of some ops, each once."""
        return [*dict.fromkeys(i for op in ops if (i := self.of(op)) is not None)]


def _line(op: Op) -> SourceLine | None:
    place: Place | None = op.place
    if place is None or not place.filename:
        return None
    is_node = place.filename.endswith(".onnx") and not place.source
    text = place.function if is_node else place.source
    function = "" if is_node else place.function
    return SourceLine(in_one_line(place.filename), place.line, in_one_line(function), in_one_line(text))
