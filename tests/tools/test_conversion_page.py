"""docs/conversion.md is what the rows and the converter's tables say."""

from pathlib import Path

import pytest

from tools import conversion_page
from tools.conversion import SECTIONS, calls, effects
from tools.conversion.rows import Row, Section
from tools.conversion_page import PAGE, examples_of, outcome, render, table


def test_the_written_page_is_up_to_date() -> None:
    assert PAGE.read_text() == render(SECTIONS), "python -m tools.conversion_page"


def test_check_tells_a_page_that_is_not_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("old")
    monkeypatch.setattr(conversion_page, "PAGE", tmp_path / "page.md")
    assert conversion_page.main(["--check"]) == 1
    assert conversion_page.main([]) == 0
    assert conversion_page.main(["--check"]) == 0


def test_an_outcome_names_ifs_warnings_and_errors() -> None:
    rows = [
        Row("", abs),
        Row("", abs, ifs=1),
        Row("", abs, ifs=2, warns="SomeWarning"),
        Row("", abs, fails="it raises"),
        Row("", abs, refused="it is not told"),
    ]
    told = ["served", "served, 1 If", "served, 2 Ifs, with a SomeWarning", "served; its run fails: it raises"]
    assert [*map(outcome, rows)] == [*told, "refused: it is not told"]


def test_a_bar_in_a_cell_ends_no_cell() -> None:
    assert table(["a"], [["x | y"]]) == "| a |\n| --- |\n| x \\| y |\n"


def test_each_row_stands_in_the_table_of_its_section() -> None:
    section = Section("Some", "It says.", [SECTIONS[0].rows[0]])
    part = render([section]).split("## Some\n\nIt says.\n\n")[1]
    assert part.splitlines()[2] == "| a function | `a_function` | served, 2 Ifs |"


def test_examples_are_shown_without_annotations_and_rows() -> None:
    shown = examples_of(calls)
    assert "def a_nested_function(x):\n    def scaled(v, *, by=x):\n" in shown
    assert "    size: Any\n" in shown
    assert "from tools." not in shown
    assert "Row(" not in shown
    assert "LOG = []\n" in examples_of(effects)
