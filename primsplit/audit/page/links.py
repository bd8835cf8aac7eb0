"""Find in the texts of rows the names that they read and define, and the row that each was defined in.

```
0  hidden = np.tanh(x @ w)
1  y = np.sum(hidden, axis=1)   ->   row 1: `y` at 0 is defined here, `hidden` at 11 in row 0
```
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\.[^\W\d]\w*|[^\W\d]\w*(?:\.[^\W\d]\w*)*(?P<key>=(?!=))?|\d[\w.]*"""
)
"""A text in quotes, an attribute, a name, the name of an argument, or a number. A name may have dots in a listing."""

EQUALS = re.compile(r" [-+*/]?= ")


class Links:
    """The rows that define each name of a function."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}

    def define(self, names: Iterable[str], row: int) -> None:
        """Note that a row defines these names. Rows come in their order."""
        for name in names:
            self.rows.setdefault(name, []).append(row)

    def of(self, name: str, row: int) -> int | None:
        """Return the last row before this one that defines a name, else the first one: a later step may read it."""
        found = self.rows.get(name)
        if found is None:
            return None
        return found[max(bisect_left(found, row) - 1, 0)]

    def find(self, text: str, row: int, assigned: Sequence[str] = ()) -> list[int]:
        """Return the start, the length and the row of definition of each name in a text, one after the other."""
        end = _end_of_target(text) if assigned else 0
        own = {*assigned}
        found: list[int] = []
        for token in TOKEN.finditer(text):
            if token["key"]:
                continue
            name = self._known(token[0])
            is_target = token.start() < end and name in own
            target = row if is_target else self.of(name, row)
            if target is not None:
                found += [token.start(), len(name), target]
        return found

    def _known(self, token: str) -> str:
        """Return the longest known name at the beginning: `x` of `x.T`, but the whole of `params.w`."""
        while token not in self.rows and "." in token[1:] and token[0] not in "'\"`":
            token = token.rpartition(".")[0]
        return token


def _end_of_target(text: str) -> int:
    """Return where the names end that a text assigns: at its `=`, at the `in` of a loop, else at its end."""
    if text.startswith("for "):
        return text.find(" in ")
    sign = EQUALS.search(text)
    return len(text) if sign is None else sign.start()
