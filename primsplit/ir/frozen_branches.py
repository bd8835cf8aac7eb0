"""Warn of branches in a loaded model whose condition is a constant: exporters that run a Python `if` once write them.

The file holds both sides, and only one ever runs, whatever the inputs are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from primsplit.ir.errors import FrozenBranchWarning, Place, warn_at
from primsplit.ir.plain_text import in_one_line

SHOWN = 3
"""The most branches that a warning names."""


@dataclass(frozen=True, slots=True)
class FrozenBranch:
    """A node whose condition is computed from constants alone.

    `kind` is If, Loop or Where; `node` its name, or its output's if it has none. `condition` is the name of the
    condition, `value` its value with the numbers in the file, `runs` what always runs in consequence.
    """

    kind: str
    node: str
    condition: str
    value: bool
    runs: str
    place: Place

    def as_dict(self) -> dict[str, object]:
        """Return the facts as JSON values."""
        return {
            "kind": self.kind,
            "node": self.node,
            "condition": self.condition,
            "value": self.value,
            "runs": self.runs,
            "place": str(self.place),
        }

    def __str__(self) -> str:
        """Return a line with the node, its condition and what always runs."""
        told = f"the condition {self.condition} of the {self.kind} {self.node} is always {self.value}: {self.runs}"
        return in_one_line(told)


def report_frozen(path: str, found: Sequence[FrozenBranch], place: Place | None) -> None:
    """Warn once, at this line, of all the frozen branches of a model."""
    if not found or place is None:
        return
    listed = "; ".join(map(str, found[:SHOWN])) + (f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
    message = (
        f"{path}: {listed}, since numbers in the file alone decide. An exporter that runs a Python `if` once keeps the "
        "side that its example took. Where the choice depends on data, export it as one, by torch.cond or a script."
    )
    warn_at(place, message, FrozenBranchWarning)
