"""Choices in a loaded model whose condition is a constant, as exporters write that run a Python `if` once.

The file holds both sides, and only one ever runs, whatever the inputs are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from primsplit.ir.errors import FrozenBranchWarning, Place, warn_at
from primsplit.ir.plain_text import in_one_line

SHOWN = 3
"""How many such choices a warning names."""


@dataclass(frozen=True, slots=True)
class FrozenBranch:
    """A node whose condition is computed from constants alone.

    `kind` is If, Loop or Where, `node` its name, or its output's where it has none. `condition` is the name of the
    condition, `value` what it is with the numbers in the file, `runs` what follows from that.
    """

    kind: str
    node: str
    condition: str
    value: bool
    runs: str
    place: Place

    def as_dict(self) -> dict[str, object]:
        """The facts for JSON."""
        return {
            "kind": self.kind,
            "node": self.node,
            "condition": self.condition,
            "value": self.value,
            "runs": self.runs,
            "place": str(self.place),
        }

    def __str__(self) -> str:
        """The choice, its condition and what always runs."""
        told = f"the condition {self.condition} of the {self.kind} {self.node} is always {self.value}: {self.runs}"
        return in_one_line(told)


def report_frozen(path: str, found: Sequence[FrozenBranch], place: Place | None) -> None:
    """Warn of the choices of a model that are frozen, once for all of them, at this line."""
    if not found or place is None:
        return
    listed = "; ".join(map(str, found[:SHOWN])) + (f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
    told = (
        f"{path}: {listed}, since numbers in the file alone decide. An exporter that runs a Python `if` once keeps the "
        "side that its example took. Where the choice depends on data, export it as one, by torch.cond or a script."
    )
    warn_at(place, told, FrozenBranchWarning)
