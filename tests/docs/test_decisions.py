"""Decisions have their parts and a test that exists; the picture of the house is short and true."""

import re
from pathlib import Path

import pytest

from tools.house import ROOMS

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def test_decisions_are_at_most_twenty_and_numbered_from_one() -> None:
    assert [path.name[:4] for path in DECISIONS] == [f"{k:03}-" for k in range(1, len(DECISIONS) + 1)]
    assert 1 <= len(DECISIONS) <= 20


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_its_parts_and_a_test_that_holds_it(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == ["Context", "Decision", "Rejected", "Held by"]
    tests = re.findall(r"`(tests/[\w/]+\.py)`", text.split("## Held by")[1])
    assert tests
    assert all((ROOT / name).exists() for name in tests)


def test_the_test_files_that_documents_name_are_there() -> None:
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")):
        names = re.findall(r"`(tests/[\w/]+\.py)", path.read_text())
        assert [name for name in names if not (ROOT / name).exists()] == [], path


def test_the_architecture_is_short_and_names_the_rooms_in_their_order() -> None:
    assert len(ARCHITECTURE.encode()) <= 10_000
    table = ARCHITECTURE.split("| room |")[1].split("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert tuple(re.findall(r"`(\w+)/`", "".join(rows))) == ROOMS
