"""The statements that a listing shows, each with the nodes that it stands for."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from primsplit.ir import Op, Var

LONGEST = 102
"""The most characters of a statement that several are written as."""


@dataclass(slots=True, kw_only=True)
class Shown:
    """A statement of a listing: `target = value`, or a head such as `for t in range(T):` with statements below.

    `op` has its place and remark, `ops` are the nodes that it stands for. `result` is the value that it assigns, if it
    is one of the file. `note` says what a reader cannot see. One that `is_passed` hands a value on under another name.
    `covers` are the values without a statement that it stands for too, `kept` is the part of an array that gets the
    value as well: `h_steps[t]` of `h = h_steps[t] = tanh(w * h)`. `results` are the values of
    several targets.
    """

    op: Op
    ops: list[Op]
    target: str = ""
    value: ast.expr | None = None
    head: str = ""
    expression: ast.expr | None = None
    result: Var | None = None
    section: str = ""
    note: str = ""
    below: list["Shown"] = field(default_factory=list)
    is_passed: bool = False
    covers: set[str] = field(default_factory=set)
    kept: str = ""
    results: dict[str, Var] = field(default_factory=dict)

    @property
    def targets(self) -> list[str]:
        """The variables, or parts of arrays, that it assigns."""
        return [part for part in (*self.target.split(", "), self.kept) if part]

    def walk(self) -> Iterator["Shown"]:
        """Yield the statement and those below it."""
        yield self
        for inner in self.below:
            yield from inner.walk()
