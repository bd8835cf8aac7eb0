"""Listings in three styles: text, Python that makes the program, a page of HTML."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from primsplit.programs.styles import list_blocks, list_split

PROGRAM = ps.split(lambda x: np.tanh(x) * 2.0, ps.spec("float64", ["N"]), wrt=0)
SPLIT = PROGRAM.split


def test_text_has_the_operators_and_the_pullback_after_the_primal() -> None:
    text = list_split(SPLIT, {}, "text")
    assert text.index("Tanh") < text.index(".pullback(")
    assert "captures" in text
    assert "Tanh" in list_blocks([SPLIT.primal], {}, "text")
    assert ".pullback(" not in list_blocks([SPLIT.primal], {}, "text")


def test_python_can_be_compiled_and_a_page_has_the_listing() -> None:
    for text in (list_split(SPLIT, {}, "python"), list_blocks([SPLIT.primal], {}, "python")):
        compile(text, "listing.py", "exec")
        assert "Tanh" in text
    page = list_split(SPLIT, {}, "html")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "Tanh" in page


def test_another_style_is_refused_with_those_there_are() -> None:
    with pytest.raises(SpecError, match="'pdf' is no style") as caught:
        list_split(SPLIT, {}, "pdf")
    assert "text, python, html" in str(caught.value)
