"""Compare a listing that was written before with the one of today, line by line.

```
matmul_1 = hidden @ w2      # mlp.py:13        the same: another number of a line,
matmul_2 = hidden @ w2      # mlp.py:15        and another number of a temporary
```

Names of one word with other numbers are paired within each function, one to one. All other texts must be equal, apart
from the numbers of lines, digests of files, and the spaces of columns.
"""

import keyword
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

DIGEST = re.compile(r"\b[0-9a-f]{64}\b|(?<=sha256 )[0-9a-f]{16}\b")
AT = re.compile(r"(?<=\.py):\d+|(?<=\.onnx):\d+|(?<=\.ipynb):\d+")
"""The number of a line behind the name of its file."""
NUMBERED = re.compile(r"(?<![\w.])(?:([A-Za-z_]\w*?)_|(c))\d+(?!\w)")
"""A name that we gave: `mul_1`, or `c14` for an array."""
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
REMARK = re.compile(r"(^|\s+)#\s.*$")
HEAD = re.compile(r"\S.*[(:]")
"""The line that a function begins with."""


def style_of(text: str) -> str:
    """Return the style that a listing was written in, by its beginning."""
    begin = text.lstrip()[:400]
    if begin[:5].lower() in {"<html", "<!doc"}:
        return "html"
    if begin.startswith("{"):
        return "json"
    if re.search(r"as (a statement|statements) of NumPy", begin):
        return "numpy"
    if re.search(r"\A.*\n\d+ nodes", begin):
        return "math"
    return "python" if re.search(r"^import primsplit", begin, re.MULTILINE) else "text"


@dataclass(frozen=True, slots=True)
class Compared:
    """The differences of two listings: `lines` in unified form, of statements and of remarks.

    `statements` and `remarks` are how many lines of each are other ones; `moved` is whether numbers of lines or of
    temporaries are. `renamed` are names outside of functions, such as those of arrays.
    """

    lines: tuple[str, ...]
    statements: int
    remarks: int
    moved: bool
    renamed: dict[str, str]


def compare_texts(old: str, new: str, fixed: Collection[str] = ()) -> Compared:
    """Compare two listings. `fixed` are names that must stay, such as those of inputs."""
    before, after = ([_plain(line) for line in text.rstrip().splitlines()] for text in (old, new))
    words = {_word(m[0]) for line in (*before, *after) for m in NUMBERED.finditer(line)}
    masking = _Masking(frozenset(words), frozenset(fixed))
    masked = [[masking.masked(line) for line in lines] for lines in (before, after)]
    codes = SequenceMatcher(None, masked[0], masked[1], autojunk=False).get_opcodes()
    lines = _Lines(before, after, _Pairs(masking))
    for tag, a, b, c, d in codes:
        if tag == "equal":
            for i, j in zip(range(a, b), range(c, d), strict=True):
                lines.pair(i, j)
        else:
            for i in range(a, b):
                lines.show(i, None, c)
            for j in range(c, d):
                lines.show(None, j, j)
    moved = not lines.shown and old.rstrip() != new.rstrip()
    return Compared(tuple(lines.shown), lines.statements, lines.remarks, moved, lines.pairs.outside)


@dataclass
class _Lines:
    """Collects the lines that differ, under the remark or the head of a function above them."""

    before: Sequence[str]
    after: Sequence[str]
    pairs: "_Pairs"
    shown: list[str] = field(default_factory=list)
    above: set[int] = field(default_factory=set)
    """The lines of the new text that are shown."""
    statements: int = 0
    remarks: int = 0

    def pair(self, i: int, j: int) -> None:
        """Take two lines that are the same but for numbers of names."""
        old, new = self.before[i], self.after[j]
        is_one = self.pairs.add(old, new)
        if not is_one or self.pairs.rename(old) != new:
            self.show(i, j, j)

    def show(self, i: int | None, j: int | None, at: int) -> None:
        """Show an old line, a new one, or both; `at` is where that is in the new text."""
        lines = [] if i is None else [f"- {self.pairs.rename(self.before[i])}"]
        lines += [] if j is None else [f"+ {self.after[j]}"]
        self.shown += [*self.context(at), *lines]
        self.above |= set() if j is None else {j}
        is_remark = _is_remark(lines)
        self.remarks += is_remark
        self.statements += not is_remark

    def context(self, at: int) -> Iterator[str]:
        """Yield the remark or head above a line of the new text, unless it is shown already."""
        found = (k for k in range(at - 1, -1, -1) if self.after[k].lstrip()[:1] == "#" or HEAD.fullmatch(self.after[k]))
        k = next(found, None)
        if k is not None and k not in self.above:
            self.above.add(k)
            yield f"  {self.after[k]}"


def _plain(line: str) -> str:
    """Return a line without numbers of lines and digests, and with single spaces behind its indentation."""
    text = DIGEST.sub("...", AT.sub("", line)).rstrip()
    body = text.lstrip()
    return text[: len(text) - len(body)] + re.sub(r"(?<=\S) +# ", "  # ", re.sub(" {2,}", " ", body))


def _is_remark(shown: Sequence[str]) -> bool:
    """Whether lines differ in a remark alone."""
    left = {REMARK.sub("", line[2:]).strip() for line in shown}
    return left == {""} or (len(shown) == 2 and len(left) == 1)


def _word(name: str) -> str:
    """Return a name without its number: `mul` of `mul_1`, `slice` of `slice_`."""
    found = NUMBERED.fullmatch(name)
    return ((found[1] or found[2]) if found else name).rstrip("_")


@dataclass(frozen=True, slots=True)
class _Masking:
    """Recognizes names that have a number, or stand for a word with the number 0: `mul`, `mul_1`."""

    words: frozenset[str]
    fixed: frozenset[str]

    def word(self, name: str) -> str:
        """Return the word of a name without its number; "" for a name that must stay."""
        if name in self.fixed or keyword.iskeyword(name):
            return ""
        word = _word(name)
        return word if word in self.words else ""

    def masked(self, line: str) -> str:
        """Return the statement of a line, or its remark if there is none, with the words in the place of names."""
        line = REMARK.sub("", line) or line
        return WORD.sub(lambda m: f"{word}*" if (word := self.word(m[0])) else m[0], line)

    def names(self, line: str) -> list[str]:
        return [m[0] for m in WORD.finditer(line) if self.word(m[0])]


class _Pairs:
    """The names of the old text and theirs in the new one: outside of functions, and in the function at hand."""

    def __init__(self, masking: _Masking) -> None:
        self.masking = masking
        self.outside: dict[str, str] = {}
        self.inside: dict[str, str] = {}
        self.taken: set[str] = set()
        self.is_outside = True

    def add(self, old: str, new: str) -> bool:
        """Pair the names of two lines. Return whether they are the same line under one name for each."""
        if new and not new.startswith((" ", ")")):
            self.is_outside = not HEAD.fullmatch(new)
            self.inside = {}
            self.taken = {*self.outside.values()}
        old, new = (REMARK.sub("", line) for line in (old, new))
        for a, b in zip(self.masking.names(old), self.masking.names(new), strict=True):
            known = self.known(a)
            if known != b and (known or b in self.taken):
                return False
            if not known:
                (self.outside if self.is_outside else self.inside)[a] = b
                self.taken.add(b)
        return True

    def known(self, name: str) -> str:
        """Return the new name of an old one; "" for none."""
        return self.inside.get(name) or self.outside.get(name, "")

    def rename(self, line: str) -> str:
        """Return an old line under the new names."""
        return WORD.sub(lambda m: self.known(m[0]) or m[0], line)
