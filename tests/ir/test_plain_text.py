"""Characters that a terminal would obey or hide are escaped, and nothing else is changed."""

import ast
import json

import pytest

from primsplit.ir.errors import SpecError, lines_of_cure
from primsplit.ir.plain_text import counted, in_json, in_lines, in_one_line

HIDDEN = {
    "\x1b": "\\x1b",
    "\x9b": "\\x9b",
    "\x00": "\\x00",
    "\x7f": "\\x7f",
    "\x85": "\\x85",
    "\r": "\\r",
    "\n": "\\n",
    "\t": "\\t",
    "\u2028": "\\u2028",
    "\u202e": "\\u202e",
    "\u2066": "\\u2066",
    "\u200b": "\\u200b",
    "\u200d": "\\u200d",
    "\ufeff": "\\ufeff",
    "\u3164": "\\u3164",
    "\ufe0f": "\\ufe0f",
    "\udcff": "\\udcff",
    "\U000e0041": "\\U000e0041",
}


@pytest.mark.parametrize("character", HIDDEN)
def test_a_character_that_is_not_shown_is_escaped_as_python_does(character: str) -> None:
    assert in_one_line(f"a{character}b") == f"a{HIDDEN[character]}b"
    assert ast.literal_eval(f"'{HIDDEN[character]}'") == character
    assert in_one_line(in_one_line(f"a{character}b")) == in_one_line(f"a{character}b")


@pytest.mark.parametrize(
    "text", ["", "x.y:0", "größe θ 変数 😀", "a\u00a0b\u3000c", "back\\slash `tick` \"'", "x\u0301"]
)
def test_letters_spaces_and_punctuation_stay(text: str) -> None:
    assert in_one_line(text) == in_lines(text) == in_json(text) == text


def test_only_line_breaks_of_the_one_kind_stay_between_lines() -> None:
    assert in_lines("a\x1b\nb\r\u2028c") == "a\\x1b\nb\\r\\u2028c"


@pytest.mark.parametrize("text", [*HIDDEN, "".join(HIDDEN), "😀θ"])
def test_json_reads_as_before(text: str) -> None:
    told = in_json(json.dumps({text: [text]}, indent=1, ensure_ascii=False))
    assert json.loads(told) == {text: [text]}
    assert all(c == "\n" or in_one_line(c) == c for c in told)


def test_a_name_in_an_error_stays_in_its_line() -> None:
    name = "x\n  at trusted.py:3\x1b[2J"
    error = SpecError(f"there is no {name}", because=(f"the names are {name}",), cure=("Take another.", f"Not {name}."))
    error.because = (f"called with {name}", *error.because)
    told = str(error)
    assert told.count("\n") == 4
    assert "\x1b" not in told
    assert "\x1b" not in repr(error)
    assert lines_of_cure("") == ()


def test_one_thing_has_no_plural() -> None:
    assert [counted(count, "node") for count in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
