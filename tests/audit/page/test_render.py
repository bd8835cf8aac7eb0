"""The page as a file: it holds everything, runs its own scripts alone, and texts of files are no markup."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import onnx.helper as oh
import pytest

from primsplit.audit.page.render import SCRIPTS, asset, in_script, to_page
from primsplit.ir.plain_text import in_lines
from tests.audit.page.pages import SPECS, foreign, loss, written


class Parsed(HTMLParser):
    """The tags of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open = tag

    def handle_data(self, data: str) -> None:
        if self.open in {"script", "style"}:
            self.texts.append((self.open, data))

    def handle_endtag(self, tag: str) -> None:
        self.open = ""


@pytest.fixture
def page(tmp_path: Path) -> str:
    return to_page(written(tmp_path, loss, *SPECS))


def test_a_page_asks_for_nothing_from_elsewhere(page: str) -> None:
    parsed = Parsed(page)
    links = {"src", "href", "srcset", "action", "background", "poster", "data", "style"}
    assert [(tag, told) for tag, told in parsed.tags if links & {*told}] == []
    css = next(text for tag, text in parsed.texts if tag == "style")
    assert not re.search(r"url\(|@import", css)
    code = "".join(text for tag, text in parsed.texts[1:])
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|importScripts|\beval\(|innerHTML|\bimport\(", code)


def test_the_policy_of_a_page_allows_its_own_scripts_and_styles_by_their_digests(page: str) -> None:
    parsed = Parsed(page)
    policy = next(told["content"] for _, told in parsed.tags if told.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    scripts = [told for tag, told in parsed.tags if tag == "script"]
    assert [told["type"] for told in scripts] == [*["application/json"] * 4, *["text/javascript"] * len(SCRIPTS)]
    assert [told.get("id") for told in scripts[:4]] == ["data", "rows-0", "rows-1", "captured"]
    code = [text for tag, text in parsed.texts if tag == "script"][4:]
    for text in [*code, *(text for tag, text in parsed.texts if tag == "style")]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


HOSTILE = "</script><script>alert(1)</script><!--<script>]]>{{7*7}}&lt;\u2028\"'`"


def test_hostile_texts_of_a_file_are_data(tmp_path: Path) -> None:
    node = oh.make_node("Nope", ["x"], ["y"], name=HOSTILE, domain="com.microsoft", text=HOSTILE)
    page, plain = (to_page([foreign(tmp_path, n)]) for n in (node, oh.make_node("Relu", ["x"], ["y"], name="r")))
    assert [tag for tag, _ in Parsed(page).tags] == [tag for tag, _ in Parsed(plain).tags]
    data, *views = (text for tag, text in Parsed(page).texts if tag == "script")
    rows = json.loads(views[len(json.loads(data)["views"]) - 1])
    assert HOSTILE.replace("\u2028", "\\u2028") in next(row["n"] for row in rows if "n" in row and not row.get("k"))


def test_json_in_a_script_has_no_signs_of_markup() -> None:
    assert json.loads(in_script(json.dumps(["<&>"]))) == ["<&>"]
    assert not {*"<&>"} & {*in_script(json.dumps(["<!--</script>&amp;"]))}


@pytest.mark.parametrize("name", [*SCRIPTS, "page.css", "page.html"])
def test_files_of_a_page_are_printed_unchanged_in_every_encoding(name: str) -> None:
    text = asset(name)
    assert text.isascii()
    assert in_lines(text) == text
    assert "</script" not in text or name == "page.html"


def test_the_files_of_a_page_are_in_the_wheel() -> None:
    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["primsplit"]
    packed = {path for pattern in patterns for path in (root / "primsplit").glob(pattern)}
    assert {*(root / "primsplit/audit/page/static").iterdir()} <= packed
    assert "primsplit/audit/page/static/dagre.LICENSE.txt" in project["project"]["license-files"]


def test_the_library_in_a_page_has_its_licence_beside_it() -> None:
    assert "Permission is hereby granted, free of charge" in asset("dagre.LICENSE.txt")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_what_a_page_computes_of_rows_is_right(tmp_path: Path) -> None:
    (tmp_path / "model.js").write_text(asset("model.js"))
    test = Path(__file__).with_name("model_test.js")
    done = subprocess.run(["node", test, tmp_path / "model.js"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "passed"
