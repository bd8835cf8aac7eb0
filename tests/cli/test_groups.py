"""Groups of options: a command has the options of the dataclasses that its parameters name."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from primsplit.cli.groups import said_in, ungrouped


@dataclass(frozen=True, kw_only=True)
class Size:
    width: Annotated[int, typer.Option("--width")] = 1
    names: Annotated[list[str] | None, typer.Option("--name")] = None
    depth: int = 7


@dataclass(frozen=True, kw_only=True)
class DeepSize(Size):
    depth: Annotated[int, typer.Option("--depth")] = 2


def output_of(command: object, *words: str) -> str:
    app = typer.Typer()
    app.command()(command)  # type: ignore[type-var]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    return found.output.strip()


@ungrouped
def draw(title: str, *, size: Size, bold: bool = False) -> None:
    print(title, size, bold)


@ungrouped
def draw_deep(*, size: DeepSize) -> None:
    print(size)


def test_a_command_takes_the_options_of_its_groups_beside_its_own() -> None:
    assert output_of(draw, "a", "--width", "3", "--name", "b", "--bold") == f"a {Size(width=3, names=['b'])} True"
    assert output_of(draw, "a") == f"a {Size()} False"


def test_a_group_that_follows_another_has_its_options_too_and_may_replace_a_field_by_one() -> None:
    assert output_of(draw_deep, "--depth", "5", "--width", "4") == str(DeepSize(width=4, depth=5))


def test_python_code_calls_a_command_with_a_group_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    draw("a", size=Size(width=9))
    assert capsys.readouterr().out.strip() == f"a {Size(width=9)} False"


def test_the_options_that_were_said_differ_from_their_defaults() -> None:
    assert said_in(Size()) == []
    assert said_in(Size(width=1, names=[], depth=3)) == []
    assert said_in(DeepSize(width=2, names=["a"], depth=3)) == ["--width", "--name", "--depth"]
