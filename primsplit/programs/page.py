"""Render a listing as one self-contained page of HTML: places and remarks set off, each op a line to link to."""

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


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a listing, split where its comment begins."""

    anchor: str
    number: int
    code: str
    comment: str


def to_page(title: str, sections: Sequence[str]) -> str:
    """Return the HTML of consecutive listings."""
    environment = Environment(
        autoescape=select_autoescape(default=True, default_for_string=True), keep_trailing_newline=True
    )
    shown = [_lines(text, number) for number, text in enumerate(sections)]
    return environment.from_string(TEMPLATE).render(title=in_one_line(title), sections=shown)


def _lines(text: str, section: int) -> list[Line]:
    found = []
    for number, line in enumerate(text.rstrip().split("\n"), 1):
        code, mark, comment = line.partition("  # ")
        found.append(Line(f"s{section}l{number}", number, code, mark + comment))
    return found
