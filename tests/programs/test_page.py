"""Listings as HTML: pages, and fragments for notebooks."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.programs.page import MOST_LINES, to_fragment, to_page
from primsplit.programs.pushed import push_program

HOSTILE = "f(</pre><script>alert(1)</script>):\n  y = Tanh({{7*7}})  # <b>remark</b>\n"


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.depth = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.depth += tag != "br"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1


@pytest.mark.parametrize("page", [to_page("f", [HOSTILE]), to_fragment([HOSTILE])])
def test_texts_of_a_listing_are_no_markup(page: str) -> None:
    assert not {"script", "b"} & {*Tags(page).tags}
    assert "{{7*7}}" in page


def test_programs_and_derivatives_are_shown_in_notebooks_as_fragments() -> None:
    split = ps.split(lambda x: np.tanh(x) * 2.0, ps.spec("float64", ["N"]), wrt=0)
    for shown, parts in ((split.program, 1), (split, 2), (push_program(split.program), 2)):
        html = shown._repr_html_()
        tags = Tags(html)
        assert tags.depth == 0
        assert tags.tags.count("details") == parts
        assert not {"script", "style", "html", "body", "link"} & {*tags.tags}
        assert "Tanh(" in html


def test_a_fragment_has_each_line_and_counts_those_that_it_leaves_out() -> None:
    lines = [f"  y{i} = Tanh(x)" for i in range(MOST_LINES + 7)]
    html = to_fragment(["\n".join(["f(x):", *lines])])
    assert len(re.findall(r"Tanh\(x\)", html)) == MOST_LINES
    assert "7 more" in html
    assert "<details open" not in html
    assert "<details open" in to_fragment(["f(x):\n  return x\n"])


def test_each_line_of_a_page_has_a_number_and_a_place_to_link_to() -> None:
    page = to_page("f <script>", ["f(x):\n  a = Sin(x)  # model.py:3 <b>\n", "g(x):  # second"])
    assert re.findall(r'id="(s\d+l\d+)"', page) == ["s0l1", "s0l2", "s1l1"]
    assert re.findall(r'href="#(s\d+l\d+)">(\d+)<', page) == [("s0l1", "1"), ("s0l2", "2"), ("s1l1", "1")]
    assert '<span class="comment">  # model.py:3 &lt;b&gt;</span>' in page
    assert "<title>f &lt;script&gt;</title>" in page
