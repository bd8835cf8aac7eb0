"""Errors: the sentence, the user's line, the facts and the cure, each safe to print."""

import linecache
import warnings

import pytest

from primsplit.ir.errors import (
    LONGEST_QUOTE,
    FileError,
    FrozenArrayWarning,
    IndexingError,
    Place,
    PrimsplitError,
    ShapeError,
    UnsupportedFunction,
    errors_made,
    lines_of_cure,
    warn_at,
)

FILE = "/folder/user_of_errors.py"


@pytest.fixture
def _source() -> None:
    """A file that Python knows."""
    lines = ["y = x @ w\n", f"z = {'x + ' * 100}x\n", "w" * LONGEST_QUOTE + "\n"]
    linecache.cache[FILE] = (1, None, lines, FILE)


@pytest.mark.usefixtures("_source")
def test_an_error_prints_its_sentence_place_facts_and_cure() -> None:
    error = ShapeError(
        "shapes do not fit",
        place=Place(FILE, 1, "f", 4, ("y",)),
        because=("x has 3 columns", "w has 4 rows"),
        cure=("Transpose w.", "Or drop a row."),
    )
    assert str(error).splitlines() == [
        "shapes do not fit",
        "  at user_of_errors.py:1 in f:  y = x @ w",
        "  x has 3 columns",
        "  w has 4 rows",
        "  Transpose w.",
        "  Or drop a row.",
    ]


@pytest.mark.usefixtures("_source")
def test_a_long_line_is_cut_and_a_node_of_a_model_has_none() -> None:
    quoted = Place(FILE, 2, "f").quoted
    assert len(quoted) <= LONGEST_QUOTE
    assert quoted.startswith("z = x + x")
    assert quoted.endswith("...")
    assert Place(FILE, 3, "f").quoted == "w" * LONGEST_QUOTE
    assert Place("m.onnx", 1, "main").quoted == ""
    assert Place("missing.py", 1, "f").source == ""


def test_lines_that_could_forge_others_are_printed_as_one() -> None:
    error = PrimsplitError("a\nb", because=("c\nd",), cure="e\x1b[31m")
    assert str(error) == "a\\nb\n  c\\nd\n  e\\x1b[31m"
    assert lines_of_cure("") == ()
    assert lines_of_cure(("a", "b\n")) == ("a", "b\\n")


def test_a_place_without_its_column_is_equal_for_all_of_a_line() -> None:
    one, other = Place("m.py", 3, "f", 1, ("a",)), Place("m.py", 3, "f", 9)
    assert one != other
    assert one.whole_line == other.whole_line


def test_errors_are_caught_as_pythons_own_too() -> None:
    assert issubclass(ShapeError, ValueError)
    assert issubclass(IndexingError, IndexError)
    assert issubclass(UnsupportedFunction, TypeError)
    assert issubclass(FileError, OSError)


def test_errors_are_collected_where_they_are_caught_inside_and_outside() -> None:
    with errors_made() as outer:
        first = ShapeError("first")
        with errors_made() as inner:
            second = ShapeError("second")
        assert inner == [second]
    PrimsplitError("after")
    assert outer == [first, second]


def test_a_warning_has_the_users_line_and_is_shown_once_there() -> None:
    place = Place("/folder/user_of_warnings.py", 12, "f")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        warn_at(place, "a large array", FrozenArrayWarning)
        warn_at(place, "a large array", FrozenArrayWarning)
        warn_at(place._replace(line=13), "a large array", FrozenArrayWarning)
    assert [(w.filename, w.lineno, str(w.message)) for w in caught] == [
        (place.filename, 12, "a large array"),
        (place.filename, 13, "a large array"),
    ]
