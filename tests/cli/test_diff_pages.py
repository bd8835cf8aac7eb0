"""A comparison as tables for a terminal and as Markdown for a pull request."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import primsplit as ps
from primsplit.audit.review.difference import difference
from primsplit.audit.written import read_written
from primsplit.cli.diff_pages import as_markdown, verdict

X = np.linspace(-1.0, 1.0, 6, dtype=np.float32)
FOUND: dict[str, Any] = {
    "outputs": [{"name": "a|b", "absolute": 0.5, "relative": 0.25, "why": "", "sample": "the examples"}],
    "samples": ["the examples"],
    "notes": [],
}


def compared(old: Callable[..., Any], new: Callable[..., Any], folder: Path) -> Any:
    paths = [ps.export(f, X, path=folder / f"{n}.onnx", mode="value")[0] for n, f in (("old", old), ("new", new))]
    return difference(*map(read_written, paths))


def test_markdown_has_a_table_a_fenced_diff_and_the_verdict(tmp_path: Path) -> None:
    text = as_markdown(compared(np.tanh, np.sin, tmp_path), FOUND, whole=False)
    lines = text.splitlines()
    assert lines[0].startswith("### `")
    assert "old.onnx` → `" in lines[0]
    assert "They differ: 1 statement changed." in lines
    assert "| section | same | changed | added | removed |" in lines
    assert "| --- | ---: | ---: | ---: | ---: |" in lines
    assert "| forward | 0 | 1 | 0 | 0 |" in lines
    fence = lines.index("```diff")
    assert "```" in lines[fence + 1 :]
    assert "+ y = sin(x)" in lines[fence:]


def test_names_break_no_table_and_no_fence(tmp_path: Path) -> None:
    text = as_markdown(compared(np.tanh, np.sin, tmp_path), FOUND, whole=False)
    assert r"| a\|b | 0.5 | 0.25 | the examples |" in text

    def quoted(x: Any) -> Any:
        return np.sin(x) + 0.0 * len("``````")

    text = as_markdown(compared(np.tanh, quoted, tmp_path), None, whole=False)
    assert "```````diff" in text


def test_the_verdict_counts_what_differs(tmp_path: Path) -> None:
    def longer(x: Any) -> Any:
        return np.exp(np.tanh(x)) * 2.0

    assert verdict(compared(np.tanh, np.tanh, tmp_path)) == "No difference: 1 node is the same."
    assert verdict(compared(np.tanh, longer, tmp_path)) == "They differ: 1 statement changed."

    def twice(x: Any) -> Any:
        first = np.tanh(x)
        second = np.exp(first)
        return second * second

    assert verdict(compared(np.tanh, twice, tmp_path)) == "They differ: 1 statement changed, 2 statements added."
