"""docs/reference.md names every public name, and only such."""

import re
from pathlib import Path

import primsplit as ps

PAGE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()


def test_every_public_name_is_on_the_page_and_no_other() -> None:
    named = set(re.findall(r"\bps\.(\w+)", PAGE))
    assert named == set(dir(ps))


def test_what_the_page_says_that_objects_have_they_have() -> None:
    for cls in (ps.Program, ps.SplitProgram):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `ps.{cls.__name__}`"))
        names = re.findall(r"`(\w+)(?:\([^)]*\))?`", row.split("|")[2])
        made = ps.split(lambda x: x * x, 1.0)
        example = made.joint() if cls is ps.Program else made
        assert names
        assert [n for n in names if not hasattr(example, n)] == []
