"""Split a listing into tokens, statements, sizes and elements."""

import ast
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from primsplit.ir import AnyArray, dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ParseError
from primsplit.ir.notation.literals import unquoted

TOKEN = re.compile(
    r"""(?P<space>[ \t]+|\#[^\n]*)
      | (?P<newline>\n)
      | (?P<quoted>`[^`\n]*`)
      | (?P<string>b?"(?:[^"\\\n]|\\.)*"|b?'(?:[^'\\\n]|\\.)*')
      | (?P<number>-?(?:0x[0-9a-f]+|(?:inf|nan)\b|\d+(?:\.\d*)?(?:e[+-]?\d+)?))
      | (?P<digest>@[0-9a-f]+)
      | (?P<name>[^\W\d]\w*(?:(?:\.|::)\w+)*)
      | (?P<mark>\.\.\.|[()\[\],:=*+-])""",
    re.VERBOSE,
)
OPENING, CLOSING = "([", ")]"


class Token(NamedTuple):
    """A word of the text. `kind` is the group of TOKEN that matched."""

    kind: str
    text: str
    start: int
    end: int


class Sentence(NamedTuple):
    """The tokens of one statement, which may take several lines."""

    depth: int
    line: int
    tokens: list[Token]


def sentences_of(text: str) -> list[Sentence]:
    """Return the statements of a text. Raises ParseError for a character that no statement has."""
    sentences: list[Sentence] = []
    tokens: list[Token] = []
    line, first, open_marks, position = 1, 1, 0, 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise ParseError(f"line {line}: a listing has no {text[position]!r} here")
        kind = match.lastgroup or ""
        position = match.end()
        if kind == "newline":
            line += 1
            if tokens and not open_marks:
                sentences.append(Sentence(_depth(text, tokens[0].start), first, tokens))
                tokens = []
        elif kind != "space":
            first = first if tokens else line
            tokens.append(Token(kind, match.group(), match.start(), position))
            open_marks += (match.group() in OPENING) - (match.group() in CLOSING) if kind == "mark" else 0
    if tokens:
        sentences.append(Sentence(_depth(text, tokens[0].start), first, tokens))
    return sentences


def _depth(text: str, start: int) -> int:
    return start - (text.rfind("\n", 0, start) + 1)


def split_sizes(text: str) -> list[str]:
    """Return the parts of `N, max(N, 1), 3`."""
    parts, depth, quote = [""], 0, False
    for letter in text:
        quote ^= letter == "`"
        depth += (letter in OPENING) - (letter in CLOSING) if not quote else 0
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def read_dim(text: str) -> Dim:
    """Return the size with this text; symbols in backticks may have any name."""
    odd: dict[str, Dim] = {}

    def stand_in(match: re.Match[str]) -> str:
        odd[name := f"odd_{len(odd)}_{'_' * len(text)}"] = dims.symbol(unquoted(match.group()))
        return name

    plain = re.sub(r"`[^`]*`", stand_in, text)
    return dims.substitute(dims.parse(plain), odd)


def elements(words: Sequence[str], dtype: np.dtype[Any]) -> AnyArray:
    """Return a vector of elements written by `literals.number_text`."""
    if dtype.kind == "O":
        return np.array([ast.literal_eval(w) for w in words], dtype=object)
    if dtype.kind == "b":
        return np.array([w == "True" for w in words], dtype=bool)
    if dtype.kind in "iu" or "int" in dtype.name:
        return np.array([int(w) for w in words], dtype=object).astype(dtype)
    result = np.zeros(len(words), dtype)
    for i, word in enumerate(words):
        if word.startswith("0x"):
            result[i] = np.frombuffer(int(word, 16).to_bytes(dtype.itemsize, "little"), dtype)[0]
        else:
            result[i] = np.asarray(float(word)).astype(dtype)
    return result
