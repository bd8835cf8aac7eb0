"""The one place where the modules that talk to files and to onnxruntime are imported, on first use.

Importing onnx_ir and onnxruntime takes several times as long as the rest of primsplit together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from primsplit.collector import paused
from primsplit.errors import SpecError
from primsplit.ir import Block, Var
from primsplit.passes.finish import finish
from primsplit.split import Split


def make_model(block: Block, inputs: Sequence[str], outputs: Sequence[str], gradients: Sequence[int] = ()) -> Any:
    """The onnx_ir model of a block, ready for onnxruntime; `gradients` are the positions of results to compute last."""
    from primsplit.onnxio.save import to_model

    with paused():
        return to_model(finish(block, gradients), inputs, outputs)


def make_proto(block: Block, inputs: Sequence[str], outputs: Sequence[str], gradients: Sequence[int] = ()) -> Any:
    """The protobuf of a block."""
    from primsplit.onnxio.save import serialize

    with paused():
        return serialize(make_model(block, inputs, outputs, gradients))


def save_model(
    block: Block, inputs: Sequence[str], outputs: Sequence[str], path: str, gradients: Sequence[int] = ()
) -> None:
    """Write a block as an ONNX file."""
    from primsplit.onnxio.save import write_model

    write_model(make_model(block, inputs, outputs, gradients), path)


def make_session(block: Block, inputs: Sequence[str], outputs: Sequence[str], gradients: Sequence[int] = ()) -> Any:
    """An onnxruntime session of a block."""
    from primsplit.runtime import Session

    return Session(make_proto(block, inputs, outputs, gradients))


def list_block(block: Block, inputs: Sequence[str], style: str) -> str:
    """A block as text, or as Python. Raises SpecError for another style."""
    from primsplit.audit.python import to_python
    from primsplit.listing import listing

    names = dict(zip(block.params, inputs, strict=True))
    return _styled(style, lambda: listing(block, names), lambda: to_python(block, names))


def list_split(split: Split, names: Mapping[Var, str], style: str) -> str:
    """A split as text, or as Python: a function for the primal, and one for the pullback."""
    from primsplit.audit.python import to_python
    from primsplit.listing import listing

    blocks = (split.primal, split.pullback)
    return _styled(style, lambda: listing(split, names), lambda: "\n\n".join(to_python(b, names) for b in blocks))


def _styled(style: str, text: Callable[[], str], python: Callable[[], str]) -> str:
    styles = {"text": text, "python": python}
    if style not in styles:
        raise SpecError(f"{style!r} is no style of listing", cure=f"The styles are {', '.join(styles)}.")
    return styles[style]()


def open_file(path: str) -> Any:
    """An ONNX file to be run by names. Raises FileError, RunError."""
    from primsplit.onnxio.opened import OpenedFile

    return OpenedFile(path)


def open_pair(forward: str, backward: str) -> Any:
    """The two files of a split, to be run like the one of the joint form."""
    from primsplit.onnxio.opened import OpenedPair

    return OpenedPair(forward, backward)


def check_file(*args: Any, **named: Any) -> Any:
    """The comparisons of a file with the function that it was made from: see `testing.verdicts.FileCheck`."""
    from primsplit.testing.verdicts import FileCheck

    return FileCheck(*args, **named)


def kinds_in_file(path: str) -> list[str]:
    """The operator of every node of an ONNX file. Raises FileError."""
    from primsplit.onnxio.nodes import node_kinds

    return list(node_kinds(path))


def save_functions(made: Any, path: str) -> None:
    """Write a split as one file whose forward and pullback are model-local functions."""
    from primsplit.onnxio.functions import to_function_model
    from primsplit.onnxio.save import write_model

    write_model(to_function_model(made), path)
