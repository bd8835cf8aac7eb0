"""Write changes as a listing in unified form, under the user's lines.

```
  forward
- # hidden = np.maximum(x @ w + b, 0)  mlp.py:10
+ # hidden = np.tanh(x @ w + b)  mlp.py:11
- hidden = Max(add, 0.0)
+ hidden = Tanh(add)
```
"""

from collections.abc import Iterable, Iterator, Sequence

from primsplit.audit.review.changes import Change, Listed
from primsplit.audit.sections import GRADS
from primsplit.ir.errors import Place
from primsplit.ir.plain_text import in_one_line

LONGEST = 12
"""The most lines of a branch or loop that is in one file alone; the bodies of a longer one are counted."""


def unified(changes: Sequence[Change], *, whole: bool = False) -> list[str]:
    """Return the lines of changes, each behind `- `, `+ ` or two spaces. `whole` shows bodies of any length."""
    lines: list[str] = []
    for section in dict.fromkeys(change.section for change in changes):
        own = [change for change in changes if change.section == section]
        lines += [f"  {section}"] if section else []
        for place in dict.fromkeys(change.line for change in own):
            group = [change for change in own if change.line == place]
            lines += _remark(group, section)
            lines += _group(group, whole=whole)
    return [in_one_line(line) for line in lines]


def _remark(group: Sequence[Change], section: str) -> Iterator[str]:
    """Yield the user's line of a group; the old and the new one if its text is another."""
    title = GRADS.get(section, "")
    old, new = (_places(side) for side in ((c.before for c in group), (c.after for c in group)))
    if old and new and {p.source for p in old} != {p.source for p in new}:
        yield from (f"- # {title}{_place(p)}" for p in old)
        yield from (f"+ # {title}{_place(p)}" for p in new)
    else:
        yield from (f"  # {title}{_place(p)}" for p in (new or old)[:1])


def _places(listed: Iterable[Listed | None]) -> list[Place]:
    return [*dict.fromkeys(one.place for one in listed if one is not None and one.place is not None)]


def _place(place: Place) -> str:
    return f"{place.source}  {place.short}" if place.source else f"{place.short} {place.function}".rstrip()


def _group(group: Sequence[Change], *, whole: bool) -> Iterator[str]:
    """Yield the statements of a line, those in one body under its heads; of a run the old ones first."""
    around: tuple[str, ...] = ()
    run: list[Change] = []
    for change in group:
        if change.inside != around:
            yield from _run(run, len(around), whole=whole)
            run = []
            shared = sum(1 for a, b in zip(around, change.inside, strict=False) if a == b)
            yield from (f"  {'  ' * i}{change.inside[i]}" for i in range(shared, len(change.inside)))
            around = change.inside
        run.append(change)
    yield from _run(run, len(around), whole=whole)


def _run(run: Sequence[Change], depth: int, *, whole: bool) -> Iterator[str]:
    for sign, sides in (("-", [c.before for c in run]), ("+", [c.after for c in run])):
        for listed in sides:
            lines = () if listed is None else _shortened(listed.lines, whole=whole)
            yield from (f"{sign} {'  ' * depth}{line}" for line in lines)


def _shortened(lines: Sequence[str], *, whole: bool) -> Sequence[str]:
    """Return the lines of a statement, of a long one its head and how much is inside."""
    if whole or len(lines) <= LONGEST:
        return lines
    inside = sum(" = " in line for line in lines[1:])
    return (lines[0], f"  ... {inside} statements inside (--all)")
