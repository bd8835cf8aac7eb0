"""Assembles the commands into one app."""

import inspect
import os
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated

import typer

from primsplit.cli.audit import audit
from primsplit.cli.bench import bench
from primsplit.cli.check import check
from primsplit.cli.diff import diff
from primsplit.cli.example import example
from primsplit.cli.export import export
from primsplit.cli.failures import TRACEBACK, Group
from primsplit.cli.grad import grad
from primsplit.cli.loops import app as loops
from primsplit.cli.rules import rules
from primsplit.cli.run import run
from primsplit.cli.samples import AUDIT, DIFF, epilog

app = typer.Typer(
    name="primsplit",
    cls=Group,
    help="A NumPy function or an ONNX model in, one ONNX file with its forward and backward pass out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"primsplit {version('primsplit')}")
        raise typer.Exit


@app.callback()
def settings(
    traceback: Annotated[
        bool, typer.Option("--traceback", help=f"Show Python's traceback of an error; or set {TRACEBACK}=1.")
    ] = False,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options before the command."""
    if traceback:
        os.environ[TRACEBACK] = "1"


def _help(command: Callable[..., None]) -> str:
    """Return a command's docstring with each paragraph on one line, which the terminal then wraps."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(command.__doc__ or "").split("\n\n"))


EPILOGS = {audit: epilog(AUDIT), diff: epilog(DIFF)}

for _command in (export, grad, audit, diff, check, run, bench, rules, example):
    app.command(help=_help(_command), epilog=EPILOGS.get(_command))(_command)
app.add_typer(loops, name="loops")
