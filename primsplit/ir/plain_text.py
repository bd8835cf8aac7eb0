r"""Escape texts from files and users before they are printed: characters that a terminal would obey, or not show.

`"a\x1b[2Jb"` prints as `a\x1b[2Jb`: escapes are Python's `repr` ones. Control characters, marks of another writing
direction, characters without width, halves of surrogate pairs and unassigned characters are escaped. Letters of all
languages stay, and spaces.
"""

import re
import unicodedata

_UNUSUAL = re.compile(r"[^ -~]")
_HIDDEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that are invisible, although Unicode does not count them as control characters."""


def is_shown(character: str) -> bool:
    """Whether the character is printed as itself and as nothing else."""
    is_space = unicodedata.category(character) == "Zs"
    return (character.isprintable() or is_space) and _HIDDEN.match(character) is None


def in_one_line(text: str) -> str:
    """Return the text with every character escaped that is not shown, line breaks included."""
    if text.isascii() and text.isprintable():
        return text
    return _UNUSUAL.sub(lambda found: _escaped(found[0]), text)


def in_lines(text: str) -> str:
    """Return the text escaped like `in_one_line`, but with its line breaks, which are primsplit's own."""
    return "\n".join(map(in_one_line, text.split("\n")))


def in_json(text: str) -> str:
    """Return a JSON text whose strings have those characters in JSON's escapes; its line breaks stay."""
    return "\n".join(_UNUSUAL.sub(lambda found: _escaped_in_json(found[0]), line) for line in text.split("\n"))


def counted(count: int, noun: str) -> str:
    """Return a number of things in words, such as "1 node" and "2 nodes"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _escaped(character: str) -> str:
    return character if is_shown(character) else character.encode("unicode_escape").decode()


def _escaped_in_json(character: str) -> str:
    if is_shown(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
