"""The commands as one app: its version, and their help."""

from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from primsplit.cli.app import _help, app

RUNNER = CliRunner()


def test_the_version_is_that_of_the_package() -> None:
    found = RUNNER.invoke(app, ["--version"])
    assert found.exit_code == 0
    assert found.output == f"primsplit {version('primsplit')}\n"


@pytest.mark.parametrize(
    "command", ["export", "grad", "audit", "diff", "check", "run", "bench", "rules", "example", "loops"]
)
def test_each_command_has_a_help_without_the_breaks_of_its_docstring(command: str) -> None:
    found = RUNNER.invoke(app, [command, "--help"])
    assert found.exit_code == 0
    assert f"primsplit {command}" in found.output or f"root {command}" in found.output


def test_paragraphs_of_a_docstring_are_one_line_each() -> None:
    def command() -> None:
        """Write a file.

        Of a function
        or a model.
        """

    assert _help(command) == "Write a file.\n\nOf a function or a model."


@pytest.mark.parametrize("words", [[], ["loops"]])
def test_a_group_without_a_command_shows_its_help(words: list[str]) -> None:
    found = RUNNER.invoke(app, words)
    assert found.output.strip() == RUNNER.invoke(app, [*words, "--help"]).output.strip()
