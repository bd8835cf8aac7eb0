"""Order statements by the user's lines, as far as what they read allows.

```
d_hidden (line 8), d_b1 (line 7), d_b2 (line 8)   ->   d_hidden, d_b2 (line 8), then d_b1 (line 7)
```
"""

from collections.abc import Hashable, Sequence

from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.trees import variables_in
from primsplit.ir.parsing import parsed_text


def grouped(lines: Sequence[Shown]) -> list[Shown]:
    """Return the statements with those of a line one after the other; each stays behind what it reads."""
    joined = _with_else(lines)
    before = _before(joined)
    left = dict.fromkeys(range(len(joined)))
    waiting: dict[Hashable, list[int]] = {}
    for i, each in enumerate(joined):
        waiting.setdefault(_key(each[0]), []).append(i)
    order: list[int] = []
    place: Hashable = None
    while left:
        ready = (i for i in waiting.get(place, ()) if i in left and not any(j in left for j in before[i]))
        found = next(ready, None)
        if found is None:
            found = next(iter(left))
            place = _key(joined[found][0])
        del left[found]
        waiting[place].remove(found)
        order.append(found)
    return [line for i in order for line in joined[i]]


def in_sections(lines: Sequence[Shown]) -> list[Shown]:
    """Return the statements with those of a section together, as far as what they read and set allows."""
    runs: list[list[list[Shown]]] = []
    for each in _with_else(lines):
        at = next((i for i in reversed(range(len(runs))) if runs[i][0][0].section == each[0].section), None)
        if at is None or any(_meet(each, other) for run in runs[at + 1 :] for other in run):
            runs.append([])
            at = len(runs) - 1
        runs[at].append(each)
    return [line for run in runs for each in run for line in each]


def _meet(each: Sequence[Shown], other: Sequence[Shown]) -> bool:
    """Whether a statement reads or sets what another one sets, or sets what that one reads."""
    (read, written), (others_read, others_written) = (_used(lines) for lines in (each, other))
    return bool(others_written & (read | written)) or bool(others_read & written)


def _used(lines: Sequence[Shown]) -> tuple[set[str], set[str]]:
    """Return the variables that a statement reads, and those that it sets."""
    every = [line for top in lines for line in top.walk()]
    return {n for line in every for n in read_by(line)}, {n for line in every for n in targets_of(line)}


def _with_else(lines: Sequence[Shown]) -> list[list[Shown]]:
    """Return the statements, each `else` with its `if`."""
    found: list[list[Shown]] = []
    for line in lines:
        if line.head == "else:" and found:
            found[-1].append(line)
        else:
            found.append([line])
    return found


def _key(line: Shown) -> Hashable:
    return line.section, None if line.op.place is None else line.op.place.whole_line


def _before(lines: Sequence[Sequence[Shown]]) -> list[set[int]]:
    """Return, for each statement, the earlier ones that must stay before it.

    They set a variable that it reads, or they read or set a variable that it sets.
    """
    writers: dict[str, set[int]] = {}
    readers: dict[str, set[int]] = {}
    found = []
    for i, each in enumerate(lines):
        every = [line for top in each for line in top.walk()]
        written = {name for line in every for name in targets_of(line)}
        read = {name for line in every for name in read_by(line)}
        own = {j for name in read for j in writers.get(name, ())}
        own |= {j for name in written for j in (*writers.get(name, ()), *readers.get(name, ()))}
        found.append(own)
        for name in written:
            writers.setdefault(name, set()).add(i)
        for name in read:
            readers.setdefault(name, set()).add(i)
    return found


def targets_of(line: Shown) -> set[str]:
    """Return the variables that a statement sets, or sets parts of."""
    return {name for target in line.targets for name in variables_in(parsed_text(target, mode="eval"))}


def read_by(line: Shown) -> set[str]:
    """Return the variables that a statement itself reads."""
    found = set() if line.value is None else variables_in(line.value)
    return found if line.expression is None else found | variables_in(line.expression)
