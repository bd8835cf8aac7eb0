"""Render a listing as one self-contained page of HTML, each op a line to link to; or as a fragment for notebooks.

Places and remarks are set off. A fragment has neither scripts nor styles for the page around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, select_autoescape

from primsplit.ir.plain_text import in_one_line

TEMPLATE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{{ title }}</title>
<style>
body { font: 14px/1.5 ui-monospace, monospace; margin: 2rem; color: #1b1f24; background: #fff; }
pre { margin: 0 0 2rem; } .line:target { background: #fff5b1; } .comment { color: #6a737d; }
.line a { color: #c0c6cc; text-decoration: none; user-select: none; display: inline-block; width: 3rem; }
@media (prefers-color-scheme: dark) {
  body { color: #d7dde3; background: #15181c; } .line:target { background: #3a3413; }
}
</style>
<h1>{{ title }}</h1>
{% for lines in sections %}<pre>
{% for line in lines %}<span class="line" id="{{ line.anchor }}"><a href="#{{ line.anchor }}">{{ line.number }}</a>\
{{ line.code }}{% if line.comment %}<span class="comment">{{ line.comment }}</span>{% endif %}</span>
{% endfor %}</pre>
{% endfor %}</html>
"""

FRAGMENT = """<div style="font-size: 13px; line-height: 1.5">
{% for part in parts %}<details{% if part.is_open %} open{% endif %} style="margin: 0 0 6px">\
<summary style="cursor: pointer"><code>{{ part.head }}</code> \
<span style="opacity: 0.6">{{ part.remark }} {{ part.count }} line{{ "" if part.count == 1 else "s" }}</span></summary>\
<pre style="margin: 2px 0 0 1.2em; overflow-x: auto; background: none">
{% for line in part.lines %}{{ line.code }}{% if line.comment %}<span style="opacity: 0.6">{{ line.comment }}</span>\
{% endif %}
{% endfor %}{% if part.count > part.lines|length %}<i>{{ part.count - part.lines|length }} more: print(_.listing())</i>
{% endif %}</pre></details>
{% endfor %}</div>
"""
MOST_LINES = 400
"""The most lines of a listing that a fragment shows."""
MOST_OPEN = 60
"""The most lines of a listing that a fragment shows unfolded."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a listing, split where its comment begins."""

    anchor: str
    number: int
    code: str
    comment: str


@dataclass(frozen=True, slots=True)
class Part:
    """A listing in a fragment, under its first line; `count` is the number of lines below it."""

    head: str
    remark: str
    count: int
    lines: list[Line]

    @property
    def is_open(self) -> bool:
        """Whether the lines are shown without a click."""
        return self.count <= MOST_OPEN


def to_page(title: str, sections: Sequence[str]) -> str:
    """Return the HTML of consecutive listings."""
    shown = [_lines(text, number) for number, text in enumerate(sections)]
    return _environment().from_string(TEMPLATE).render(title=in_one_line(title), sections=shown)


def to_fragment(sections: Sequence[str]) -> str:
    """Return consecutive listings as HTML to stand in a notebook. Each folds under its first line."""
    return _environment().from_string(FRAGMENT).render(parts=[*map(_part, sections)])


def _part(text: str) -> Part:
    head, *lines = _lines(text, 0)
    remark = head.comment.strip("# ")
    return Part(head.code.rstrip(" :"), f"{remark}; " if remark else "", len(lines), lines[:MOST_LINES])


def _environment() -> Environment:
    return Environment(autoescape=select_autoescape(default=True, default_for_string=True), keep_trailing_newline=True)


def _lines(text: str, section: int) -> list[Line]:
    found = []
    for number, line in enumerate(text.rstrip().split("\n"), 1):
        code, mark, comment = line.partition("  # ")
        found.append(Line(f"s{section}l{number}", number, code, mark + comment))
    return found
