"""Find the statement of the forward pass that a statement of a derivative belongs to: `# Grad of: h = tanh(x @ w)`.

A line may have several statements, such as that of a function that is called twice, and be a part of others: `x @ w` of
that function is in `h = tanh(x @ w)`, a line of its caller. The one is taken whose values the statement of the
derivative reads, or of which it computes the cotangents; of equal ones that of the line itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.sections import order_told
from primsplit.ir.errors import Place

Side = str
"""The side of a branch, "" for all."""


@dataclass(frozen=True, slots=True)
class Told:
    """The text of a statement, and the names that a statement of its derivative may read or compute a cotangent of.

    `order` is that of the derivative that the statement itself is a part of.
    """

    text: str
    names: frozenset[str]
    order: int = 0


@dataclass
class Remarks:
    """The statements of the forward pass by their lines, and by the lines of the nodes that they stand for."""

    at: dict[tuple[Place, Side], list[Told]] = field(default_factory=dict)
    around: dict[tuple[Place, Side], list[Told]] = field(default_factory=dict)

    def learn(self, line: Shown, text: str, side: Side, names: Iterable[str]) -> None:
        """Note the text of a statement, with the names that it reads and those of the cotangents of what it assigns."""
        place = line.op.line
        if line.head or line.is_passed:
            return
        told = Told(text, frozenset(names), order_told(line.op))
        for key in {(place, side), (place, "")} if place is not None else set():
            self.at.setdefault(key, []).append(told)
        for own in {op.line for op in line.ops} - {None, place}:
            assert own is not None
            for key in {(own, side), (own, "")}:
                self.around.setdefault(key, []).append(told)

    def of(self, place: Place | None, side: Side, names: Iterable[str], before: str = "", order: int = 1) -> str:
        """Return the statement for one of a derivative; "" without one.

        `names` are those that it reads, and those of the values of which it computes cotangents.
        `before` is the one of the statement before, which is taken where the names do not tell, `order` that of the
        derivative.
        """
        if place is None:
            return ""
        found = self.here(place, side) or self.here(place, "")
        found = [told for told in found if told.order == order - 1] or found
        known = {*names}
        most = max((len(known & told.names) for told in found), default=0)
        best = [told.text for told in found if len(known & told.names) == most]
        return before if before in best else best[-1] if best else ""

    def here(self, place: Place, side: Side) -> list[Told]:
        """Return the statements with nodes of a line on a side of a branch, those of the line itself last."""
        return [*self.around.get((place, side), []), *self.at.get((place, side), [])]
