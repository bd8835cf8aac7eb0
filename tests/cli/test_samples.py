"""The help of `audit` and `diff` shows an example of each style."""

from collections.abc import Callable
from typing import Any

import pytest

from primsplit.cli.audit import Style
from primsplit.cli.diff import Style as DiffStyle
from primsplit.cli.samples import AUDIT, DIFF, epilog


@pytest.mark.parametrize(("command", "rows"), [("audit", AUDIT), ("diff", DIFF)])
def test_help_shows_the_examples_as_they_are(
    primsplit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str, rows: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERMINAL_WIDTH", "120")
    done = primsplit(command, "--help")
    assert done.status == 0
    shown = done.out.replace("\N{NO-BREAK SPACE}", " ")
    for option, example in rows:
        assert f"{option:17} {example}".strip() in shown


def test_every_style_has_an_example() -> None:
    assert {option for option, _ in AUDIT} >= {f"--style {style}" for style in Style} | {"--json"}
    assert {option for option, _ in DIFF} >= {f"--style {style}" for style in DiffStyle} | {"--json"}


def test_an_epilog_keeps_spaces_and_brackets() -> None:
    line = epilog([("", "y  [N]")]).splitlines()[-1]
    assert line.replace("\N{NO-BREAK SPACE}", " ") == f"{'':18}y  \\[N]"
