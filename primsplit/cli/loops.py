"""`primsplit loops show`: prints a loop nest, how it is read, and its derivative."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from primsplit.cli import options
from primsplit.cli.failures import command
from primsplit.cli.late import nest_texts, open_nest
from primsplit.cli.output import console, print_json

if TYPE_CHECKING:
    from primsplit.frontends.loops.derivation import Derivation
    from primsplit.frontends.loops.loopset import LoopSet
    from primsplit.frontends.loops.nest import Nest

app = typer.Typer(help="Loop nests: index notation, and Python functions of loops.", no_args_is_help=True)


@app.command(help="Show a nest as the operations that it is, or what its derivative is.")
@command
def show(
    target: Annotated[str, typer.Argument(metavar="NEST", help="model.py:function, or index notation in quotes.")],
    tracked: Annotated[
        str | None, typer.Option("--tracked", metavar="A,B", help="Its derivative by these arguments; 'all' for all.")
    ] = None,
    gradient: Annotated[
        str | None,
        typer.Option("--gradient", metavar="A,B", help="The formulas of these gradients alone; 'all' for all."),
    ] = None,
    *,
    json: options.Json = False,
) -> None:
    """Print a nest of a file's function, or of a text like "C[m,n] := A[m,k] * B[k,n]", and its derivative."""
    nest = open_nest(target)
    derivation = None if tracked is None else nest.derive(_names(tracked))
    formulas = None if gradient is None else nest.gradient_listing(_names(gradient))
    if json:
        derived = {} if derivation is None else {"derivative": _derivative(derivation)}
        print_json({**_as_dict(nest.loopset), **derived, **({} if formulas is None else {"gradient": formulas})})
        return
    whole = [] if formulas is not None and derivation is None else [_listing(nest, derivation)]
    for line in "\n\n".join([*whole, *([] if formulas is None else [formulas])]).splitlines():
        is_header = bool(line) and not line.startswith(" ")
        console().print(Text(line, style="bold" if is_header else ""), soft_wrap=True)


def _names(given: str) -> list[str] | None:
    return None if given == "all" else [name.strip() for name in given.split(",")]


def _listing(nest: "Nest", derivation: "Derivation | None") -> str:
    return nest.listing() if derivation is None else nest_texts().list_derivation(derivation)


def _as_dict(nest: "LoopSet") -> dict[str, Any]:
    texts = nest_texts()
    return {
        "name": nest.name,
        "arguments": [{"name": name, "axes": rank} for name, rank in nest.arguments],
        "whole_numbers": list(nest.integers),
        "loops": [
            {"name": loop.name, "start": texts.linear_text(loop.start), "stop": texts.linear_text(loop.stop)}
            for loop in nest.loops
        ],
        "operations": [
            {
                "kind": operation.kind,
                "function": operation.function,
                "loops": list(operation.loops),
                "reduced": list(operation.reduced),
                "parents": list(operation.parents),
                "array": operation.makes or (operation.reference.array if operation.reference else ""),
            }
            for operation in nest.operations
        ],
        "results": _pairs(nest.results),
        "listing": texts.list_nest(nest),
    }


def _derivative(derivation: "Derivation") -> dict[str, Any]:
    return {
        "forward": _as_dict(derivation.forward),
        "reverse": _as_dict(derivation.reverse),
        "temporaries": [{"name": kept.name, "loops": list(kept.loops)} for kept in derivation.temporaries],
        "cotangents": _pairs(derivation.cotangents),
        "gradients": _pairs(derivation.gradients),
    }


def _pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return dict(pairs)
