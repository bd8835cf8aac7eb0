"""docs/scipy.md is what the verdicts and the package's tables say, and the verdicts agree with these tables."""

import json

import pytest

from primsplit.frontends.python.converter.own_code import OWN
from tools import scipy_own_page
from tools.scipy_own import LARGER, RESULTS
from tools.scipy_own_page import FORMULA, KEPT, OWN_CODE, PAGE, reason, render, rows

VERDICTS = json.loads(RESULTS.read_text())


def test_the_written_page_is_up_to_date() -> None:
    assert PAGE.read_text() == render(VERDICTS), "python -m tools.scipy_own_page"


def test_check_tells_a_page_that_is_not_up_to_date(tmp_path, monkeypatch) -> None:
    assert scipy_own_page.main(["--check"]) == 0
    (tmp_path / "page.md").write_text("old")
    monkeypatch.setattr(scipy_own_page, "PAGE", tmp_path / "page.md")
    assert scipy_own_page.main(["--check"]) == 1
    assert scipy_own_page.main([]) == 0
    assert scipy_own_page.main(["--check"]) == 0


@pytest.mark.parametrize("name", [f"{module}.{function}" for module in OWN for function in OWN[module]])
def test_scipys_own_code_was_measured_to_serve_in_no_larger_files(name: str) -> None:
    verdict = VERDICTS[name]
    assert verdict["why"] == ""
    assert all(own <= LARGER * formula for formula, own in filter(None, verdict["nodes"]))


def test_each_function_has_one_row_and_a_formula_has_a_reason() -> None:
    found = [*rows(VERDICTS)]
    assert len({name for name, _, _ in found}) == len(found)
    assert {way for _, way, _ in found} == {OWN_CODE, FORMULA}
    assert all(why for _, way, why in found if way == FORMULA)
    assert "scipy.integrate.trapezoid" in {name for name, way, _ in found if way == OWN_CODE}


def test_a_reason_is_told_in_few_words() -> None:
    measured = {
        "f": {"why": "larger: 21 nodes for 10"},
        "g": {"why": "NumberAsked: a compiled function cannot take a traced array: it must be numpy.ndarray"},
        "h": {"why": "a slope is 1, and 2 by a central difference"},
        "i": {"why": "symbolic sizes: UndecidableSize: whether N == 0 is known only at run time"},
    }
    assert [reason(name, measured) for name in "fghij"] == [
        "a larger file: 21 nodes, 10 by the formula",
        "compiled code",
        "less exact",
        "needs known sizes",
        "not measured",
    ]


def test_what_is_kept_for_a_reason_of_its_own_serves_in_the_samples() -> None:
    assert all(VERDICTS[name]["why"] == "" for name in KEPT)
