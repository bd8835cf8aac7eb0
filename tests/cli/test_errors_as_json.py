"""With --json every error is JSON on the standard output too: of a command, and of the command line itself."""

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("command", ["export", "grad", "audit", "check", "bench", "run"])
def test_with_json_an_error_is_json_on_the_output_too(
    primsplit: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    done = primsplit(command, tmp_path / "gone.onnx", "--json")
    assert done.status == 1
    assert done.json["error"]["kind"] == "FileError"
    assert done.json["error"]["text"] == done.error.strip()


USAGE = [
    (["export"], "Missing argument"),
    (["export", "model.py", "--bogus"], "No such option"),
    (["export", "model.py", "--form", "bad"], "'bad' is not one of"),
    (["bench", "model.onnx", "--runs", "many"], "Invalid value for '--runs'"),
    (["audit", "model.py", "more"], "unexpected extra argument"),
    (["loops", "show"], "Missing argument"),
    (["bogus"], "No such command"),
    (["export", "a\0b"], "NUL character"),
    (["run", "model.onnx", "--out", "a\0b"], "NUL character"),
    (["loops", "show", "a\0b"], "NUL character"),
]


@pytest.mark.parametrize(("arguments", "told"), USAGE, ids=[" ".join(a) for a, _ in USAGE])
def test_with_json_what_the_parser_refuses_is_json_too(
    primsplit: Callable[..., Any], arguments: list[str], told: str
) -> None:
    done = primsplit(*arguments, "--json")
    assert done.status == 2
    assert done.json["error"]["kind"] == "UsageError"
    assert told in done.json["error"]["text"]
    assert primsplit(*arguments).out == ""


def test_an_unknown_option_is_told_by_the_parser(primsplit: Callable[..., Any]) -> None:
    done = primsplit("export", "model.py", "--colour", "red")
    assert done.status == 2
    assert "--colour" in textwrap.dedent(done.error)


@pytest.mark.parametrize(
    ("command", "option", "text", "near"),
    [
        ("export", "--mode", "hvpp", "The nearest is hvp."),
        ("export", "--form", "joimt", "The nearest is joint."),
        ("export", "--dtype", "flaot32", "The nearest is float32."),
        ("export", "--branches", "staic", "The nearest is static."),
        ("grad", "--provider", "cude", "The nearest is cuda."),
        ("audit", "--style", "htm", "The nearest is html."),
    ],
)
def test_a_name_that_an_option_does_not_know_is_told_the_nearest(
    primsplit: Callable[..., Any], command: str, option: str, text: str, near: str
) -> None:
    done = primsplit(command, "model.py", option, text, "--json")
    assert done.status == 2
    told = done.json["error"]["text"]
    assert told.startswith(f"Invalid value for '{option}': '{text}' is not one of ")
    assert told.endswith(near)
