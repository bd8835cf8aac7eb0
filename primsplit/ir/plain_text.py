"""Texts from files and users, made safe to print: what a terminal would obey, or not show, is escaped.

An escape is written as Python's `repr` writes it. Control characters, marks of another writing direction, characters
without width, halves of surrogate pairs and unassigned characters are escaped. Letters of all languages stay, and
spaces.
"""

import re
import unicodedata

_UNUSUAL = re.compile(r"[^ -~]")
_HIDDEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that Unicode lets a reader see nothing of, although they are none of its control characters."""


def is_shown(character: str) -> bool:
    """True for a character that is printed as itself and as nothing else."""
    is_space = unicodedata.category(character) == "Zs"
    return (character.isprintable() or is_space) and _HIDDEN.match(character) is None


def in_one_line(text: str) -> str:
    """The text with every character escaped that is not shown, line breaks among them."""
    if text.isascii() and text.isprintable():
        return text
    return _UNUSUAL.sub(lambda found: _escaped(found[0]), text)


def in_lines(text: str) -> str:
    """As `in_one_line`, for a text whose line breaks are primsplit's own and stay."""
    return "\n".join(map(in_one_line, text.split("\n")))


def in_json(text: str) -> str:
    """A JSON text whose strings have those characters as JSON escapes them; its line breaks stay."""
    return "\n".join(_UNUSUAL.sub(lambda found: _escaped_in_json(found[0]), line) for line in text.split("\n"))


def _escaped(character: str) -> str:
    return character if is_shown(character) else character.encode("unicode_escape").decode()


def _escaped_in_json(character: str) -> str:
    if is_shown(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
