"""Find which variables of a listing hold values at the same time: two that never do may share a name.

```
h_1 = h; for t in range(T): h_1 = tanh(w * h_1); y = h_1     h and h_1 may share a name: h is not read any more
h_1 = h; for t in range(T): h_1 = tanh(w * h_1); y = h_1 + h     they may not
```

These are the interference graph of register allocation and its rule for copies: Chaitin, Register allocation and
spilling via graph coloring, SIGPLAN 1982.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from primsplit.audit.mathematics.ordering import read_by
from primsplit.audit.mathematics.shown import Shown

Names = frozenset[str]


def carries_of(lines: Sequence[Shown]) -> set[str]:
    """Return the variables that a loop hands from step to step: those that are assigned before it and in it."""
    found: set[str] = set()
    assigned: set[str] = set()
    for line in (line for top in lines for line in top.walk()):
        if line.head.startswith(("for", "while")):
            found |= assigned & {name for inner in line.walk() for name in whole_targets(inner)}
        assigned |= whole_targets(line)
    return found


def whole_targets(line: Shown) -> set[str]:
    """Return the variables that a statement assigns, without arrays of which it assigns a part."""
    return {target for target in line.targets if "[" not in target}


def copied(line: Shown) -> set[tuple[str, str]]:
    """Return the variables that a statement assigns the value of another variable, each with that one."""
    parts = line.target.split(", ")
    values = [line.value] if len(parts) == 1 else line.value.elts if isinstance(line.value, ast.Tuple) else []
    return {(part, v.id) for part, v in zip(parts, values, strict=False) if isinstance(v, ast.Name)}


@dataclass
class Lifetimes:
    """Finds for each variable those that hold another value while it is needed.

    `params` have values from the start on, `results` are needed at the end.
    """

    lines: Sequence[Shown]
    params: Iterable[str]
    results: Names
    against: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        needed = self.before(self.lines, self.results, frozenset())
        for param in self.params:
            self.meet(param, needed | {*self.params})

    def meet(self, name: str, others: Iterable[str]) -> None:
        """Note that a variable gets a value while others are needed."""
        for other in others:
            if other != name:
                self.against[name].add(other)
                self.against[other].add(name)

    def before(self, lines: Sequence[Shown], after: Names, behind: Names) -> Names:
        """Return the variables that are needed before statements; `behind` are those behind the loop around them."""
        needed, other = after, after
        for line in reversed(lines):
            if line.head == "else:":
                other = self.before(line.below, needed, behind)
            elif line.head.endswith("break"):
                needed = needed | behind | read_by(line)
            elif line.head.startswith("if"):
                needed = self.before(line.below, needed, behind) | other | read_by(line)
            elif line.head:
                needed = self.before_loop(line, needed)
            else:
                needed = self.before_assignment(line, needed)
            other = other if line.head == "else:" else needed
        return needed

    def before_loop(self, line: Shown, after: Names) -> Names:
        """Return the variables that are needed before a loop, of no step or of many."""
        needed = after | read_by(line)
        while (found := needed | self.before(line.below, needed, after)) != needed:
            needed = found
        return needed

    def before_assignment(self, line: Shown, after: Names) -> Names:
        """Return the variables that are needed before an assignment, and note what it meets."""
        targets, copies = whole_targets(line), copied(line)
        for target in targets:
            self.meet(target, {other for other in after if (target, other) not in copies} | targets)
        return (after - targets) | read_by(line)


class Sharing:
    """Says which variables may have the name of another: one of the two is a loop's, and they never meet."""

    def __init__(
        self, lines: Sequence[Shown] = (), params: Iterable[str] = (), results: Names = frozenset(),
        of: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.of = of
        self.carries = carries_of(lines)
        self.against = Lifetimes(lines, params, results).against if self.carries else {}
        self.known = {*params}.union(*(whole_targets(line) for top in lines for line in top.walk()))

    def may_share(self, own: str, name: str) -> bool:
        """Whether a variable may have a name that others have."""
        if not self.carries or own not in self.known:
            return False
        others = {other for other, shown in self.of.items() if shown == name}
        is_carried = own in self.carries or bool(others & self.carries)
        return is_carried and others <= self.known and not others & {*self.against.get(own, ())}
