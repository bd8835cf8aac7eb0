"""docs/runtime_faults.md is what the records say."""

import json

from primsplit.ir.runtimes import Fault
from tools import faults_page
from tools.faults_page import PAGE, records, render, tried, versions
from tools.runtime_faults import RESULTS


def record(since: str | None = None, before: str | None = None, cure: str = "targets.legalize.legalize") -> Fault:
    return Fault("some", "onnxruntime", "wrong", ("Add", "Sub"), "It is wrong.", since, before, cure)


def test_the_written_page_is_up_to_date() -> None:
    assert PAGE.read_text() == render(records(), json.loads(RESULTS.read_text())), "python -m tools.faults_page"


def test_check_tells_a_page_that_is_not_up_to_date(tmp_path, monkeypatch) -> None:
    assert faults_page.main(["--check"]) == 0
    (tmp_path / "page.md").write_text("old")
    monkeypatch.setattr(faults_page, "PAGE", tmp_path / "page.md")
    assert faults_page.main(["--check"]) == 1
    assert faults_page.main([]) == 0
    assert faults_page.main(["--check"]) == 0


def test_versions_are_told_in_words() -> None:
    told = [versions(record(since, before)) for since in (None, "1.21") for before in (None, "1.25")]
    assert told == ["all", "before 1.25", "from 1.21 on", "1.21 until before 1.25"]


def test_neighbouring_versions_that_agree_are_one() -> None:
    found = {"1.9.0": "wrong", "1.31.1": "right", "1.30.0": "wrong", "1.32.0": "right", "1.29.0": "aborts"}
    assert tried(found) == "wrong in 1.9.0; aborts in 1.29.0; wrong in 1.30.0; right in 1.31.1 to 1.32.0"
    assert tried({}) == ""


def test_a_fault_stands_in_the_table_of_its_kind_with_the_module_that_works_around_it() -> None:
    page = render([record(before="1.25")], {"some": {"1.20.1": "wrong"}})
    _, after = page.split("## Wrong results without an error")
    cells = "| `targets/legalize.py` | Add, Sub | It is wrong. | before 1.25 | wrong in 1.20.1 |"
    assert cells in after.split("##")[0]
    assert "| Add, Sub | It is wrong." in render([record(cure="")], {}).split("## Not worked around")[1]
