"""`primsplit example`: writes a small model, to try the other commands with."""

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from primsplit.cli.failures import command
from primsplit.ir.errors import SpecError

NAME = "perceptron.py"


@command
def example(
    path: Annotated[Path, typer.Argument(metavar="[FILE.py]", help="Where to write it.")] = Path(NAME),
) -> None:
    """Write a small model in plain NumPy, to try the other commands with. No file is overwritten.

    Then: primsplit export perceptron.py --onnx perceptron.onnx
    """
    text = resources.files("primsplit.cli").joinpath(NAME).read_text("utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SpecError(f"{path} exists already", cure=f"Name another file: primsplit example other_{NAME}") from None
    except OSError as error:
        raise SpecError(f"{path} cannot be written: {error.strerror}", cure="Name a file in another folder.") from None
    typer.echo(f"{path} is written. Try: primsplit export {path} --onnx {path.with_suffix('.onnx')}")
