"""Render files as one page of HTML that needs no network: styles, scripts and data are inside of it.

The page has a content security policy that runs these scripts alone, by their digests. Texts of files are data: no
markup is made of them.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files as resources
from typing import Any

from jinja2 import Environment

from primsplit.audit.page.data import page_data
from primsplit.audit.written import Written
from primsplit.ir.plain_text import in_lines

SCRIPTS = (
    "dagre.min.js",
    "model.js",
    "list.js",
    "graph.js",
    "captures.js",
    "selection.js",
    "page.js",
    "keys.js",
)
"""The scripts in their order. The first is dagre 3.1.3, the library that lays out the graph."""


def to_page(files: Sequence[Written]) -> str:
    """Return the page of the files of one derivative."""
    data = page_data(files)
    late = {f"rows-{i}": view.pop("rows") for i, view in enumerate(data["views"])}
    late["captured"] = data.pop("captures")
    style = f"\n{asset('page.css')}"
    scripts = [f"\n{asset(name)}" for name in SCRIPTS]
    environment = Environment(autoescape=True, keep_trailing_newline=True)
    return environment.from_string(asset("page.html")).render(
        title=data["title"],
        style=style,
        scripts=scripts,
        data=_json(data),
        late={name: _json(part) for name, part in late.items()},
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {' '.join(map(_digest, scripts))}; "
        "base-uri 'none'; form-action 'none'",
    )


def asset(name: str) -> str:
    """Return the text of a file that lies beside this module. The library has control characters in its strings."""
    return in_lines((resources("primsplit.audit.page") / "static" / name).read_text("ascii"))


def _json(data: Any) -> str:
    return in_script(json.dumps(data, separators=(",", ":")))


def in_script(text: str) -> str:
    """Return JSON so that it neither ends its script element nor opens another one."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
