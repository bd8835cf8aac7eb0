"""Lay statements out as a listing: columns that do not move, the user's lines, remarks in the backward pass."""

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from primsplit.audit.mathematics.ordering import read_by
from primsplit.audit.mathematics.remarks import Remarks
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import renamed, text_of
from primsplit.audit.sections import BACKWARD, TANGENT, order_told, part_told
from primsplit.ir.dims import Dim
from primsplit.ir.errors import Place
from primsplit.ir.plain_text import in_one_line

LINES_AT = 52
"""The column of lines beside statements."""
WIDEST = 110
"""The most characters of a statement on one line."""
Remark = tuple[Place | None, str]
"""The line of a remark and the statement that it tells."""
SHAPES = 12
"""The width of the column of shapes."""


@dataclass
class Printer:
    """Prints statements under the names of values; `shapes` are those of values by the names in the file.

    `widest` is the length of the longest line that stands beside a statement, such as `model.py:12`.
    """

    names: Mapping[str, str]
    shapes: Mapping[str, tuple[Dim, ...]]
    widest: int = 14
    made: str = "Grad of"
    remarks: Remarks = field(default_factory=Remarks)

    def section(self, lines: Sequence[Shown], title: str) -> Iterator[str]:
        """Yield the lines of a section."""
        self.made = "Tangent of" if title == TANGENT else "Grad of"
        if title in {BACKWARD, TANGENT}:
            yield from self.pullback(lines, 1)
            return
        yield from self.primal(lines, 1)

    def primal(self, lines: Sequence[Shown], depth: int, side: str = "") -> Iterator[str]:
        """Yield statements with their line and shape beside them; `side` is the side of a branch that they are on.

        Those of a gradient that the function itself takes have a remark that says of what.
        """
        last: Place | None = None
        inner, derived = side, ""
        for line in lines:
            place = line.op.line
            part = "" if line.head or line.is_passed else part_told(line.op)
            told = self.told(line, side, derived) if part else ""
            if part and place is not None and (told != derived or (not told and place != last)):
                self.made = "Tangent of" if part == TANGENT else "Grad of"
                yield self.remark(place, told, depth)
                last = place
            elif derived and not part:
                last = None
            derived = told
            beside = [_where(place) if place != last else "", self.shape(line), line.note]
            last = place
            text = self.text(line)
            self.learn(line, text, side)
            yield self.row("  " * depth + text, *beside)
            inner = side_below(text, inner, side)
            yield from self.primal(line.below, depth + 2, inner)

    def learn(self, line: Shown, text: str, side: str = "") -> None:
        """Note the text of a statement of the forward pass, without what it keeps, for remarks on its pullback."""
        told = text.replace(f"{self.target(line.kept)} = ", "", 1) if line.kept else text
        cotangents = {f"{prefix}{name}" for name in self.assigned_names(line) for prefix in ("d_", "t_")}
        self.remarks.learn(line, told, side, self.read_names(line) | cotangents)

    def read_names(self, line: Shown) -> set[str]:
        """Return the names that a statement reads."""
        return {self.names.get(own, own) for own in read_by(line)}

    def assigned_names(self, line: Shown) -> set[str]:
        """Return the names that a statement assigns."""
        owns = {target.partition("[")[0] for target in line.targets}
        return {self.names.get(own, own) for own in owns}

    def pullback(
        self, lines: Sequence[Shown], depth: int, last: Remark = (None, ""), side: str = "", around: Place | None = None
    ) -> Iterator[str]:
        """Yield statements under remarks that say what they are the gradient of; `around` is the line of their loop."""
        inner = side
        for line in lines:
            place = line.op.line
            is_told = place is not None and place != around and not line.head and not line.is_passed
            if place is not None and is_told:
                told = self.told(line, side, last[1])
                if told != last[1] or (not told and place != last[0]):
                    yield self.remark(place, told, depth)
                last = place, told
            yield self.row("  " * depth + self.text(line), "", "", line.note)
            inner = side_below(self.text(line), inner, side)
            loop = place if line.head.startswith(("for", "while")) else around
            yield from self.pullback(line.below, depth + 2, last, inner, loop)

    def told(self, line: Shown, side: str, before: str = "") -> str:
        """Return the statement of the forward pass that one belongs to, on this side of a branch; "" without one."""
        values = {name[2:] for name in self.assigned_names(line) if name.startswith(("d_", "t_"))}
        return self.remarks.of(line.op.line, side, self.read_names(line) | values, before, order_told(line.op))

    def remark(self, place: Place, told: str, depth: int) -> str:
        """Return `# Grad of: h = tanh(x @ w)`, with the line where no statement of the forward pass is there."""
        if told:
            short = told if len(told) <= LINES_AT + SHAPES else f"{told.partition(' = ')[0]} = ..."
            return "  " * depth + f"# {self.made}: {short}"
        return self.row("  " * depth + f"# {self.made}: {place.source or place.short}", "", _where(place))

    def text(self, line: Shown) -> str:
        """Return a statement as text."""
        if line.head:
            value = "" if line.expression is None else self.value(line.expression)
            return line.head.format(value)
        assert line.value is not None
        value = self.value(line.value)
        is_several = isinstance(line.value, ast.Tuple) and "," in line.target
        return in_one_line(f"{self.assigned(line)}{value[1:-1] if is_several else value}")

    def assigned(self, line: Shown) -> str:
        """Return `h = h_steps[t] = `: what a statement assigns to."""
        return "".join(f"{self.target(part)} = " for part in (line.target, line.kept) if part)

    def target(self, target: str) -> str:
        """Return what is assigned to: a name, several, or a part of an array."""
        parts = []
        for part in target.split(", "):
            own, bracket, index = part.partition("[")
            parts.append(self.names.get(own, own) + bracket + index)
        return ", ".join(parts)

    def value(self, value: ast.expr) -> str:
        """Return the text of an expression."""
        return text_of(renamed(value, self.names))

    def row(self, text: str, *beside: str) -> str:
        """Return a statement with what stands beside it, each in its column or two spaces behind what is longer."""
        text, *rest = _wrapped(text)
        shapes = LINES_AT + self.widest + 2
        for column, part in zip((LINES_AT, shapes, shapes + SHAPES), beside, strict=False):
            if part:
                text = f"{text.ljust(column - 2)}  {part}"
        return "\n".join([text.rstrip(), *rest])

    def shape(self, line: Shown) -> str:
        """Return the shape of the value that a statement assigns."""
        found = self.shapes.get(line.target)
        return "" if found is None or line.head else "[" + ", ".join(map(str, found)) + "]"


def side_below(text: str, before: str, side: str) -> str:
    """Return the side of a branch that the statements below a line are on: `if x > 0:`, or `else of if x > 0:`.

    `before` is that of the line before, `side` that of the line itself.
    """
    if text == "else:":
        return f"else of {before}"
    return text if text.startswith("if ") and text.endswith(":") else side


def _where(place: Place | None) -> str:
    return "" if place is None else place.short


def _wrapped(text: str) -> list[str]:
    """Return a statement in several lines, if it is long; those behind the first are indented further."""
    depth = len(text) - len(text.lstrip())
    if len(text) <= WIDEST:
        return [text]
    return textwrap.wrap(
        text, WIDEST, subsequent_indent=" " * (depth + 8), break_long_words=False, break_on_hyphens=False
    )
