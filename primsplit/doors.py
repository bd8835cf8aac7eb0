"""The one place where the modules that talk to files and to onnxruntime are imported, on first use.

Importing onnx_ir and onnxruntime takes several times as long as the rest of primsplit together.
"""

from collections.abc import Sequence
from typing import Any

from primsplit.collector import paused
from primsplit.ir import Block
from primsplit.names import NamedBlock
from primsplit.passes.finish import finish


def make_model(named: NamedBlock) -> Any:
    """The onnx_ir model of a block, ready for onnxruntime."""
    from primsplit.onnxio.save import to_model

    with paused():
        return to_model(finish(named.block, named.gradients), named.inputs, named.outputs, defaults=named.defaults)


def make_proto(named: NamedBlock) -> Any:
    """The protobuf of a block."""
    from primsplit.onnxio.save import serialize

    with paused():
        return serialize(make_model(named))


def make_session(named: NamedBlock) -> Any:
    """An onnxruntime session of a block."""
    from primsplit.runtime import Session

    return Session(make_proto(named), plan_memory=_is_small(named.block))


SMALL = 2**24


def _is_small(block: Block) -> bool:
    """True where all that the block computes surely fits in so many bytes."""
    total = 0
    for size in (v.type.nbytes() for op in block.ops for v in op.outputs):
        if not isinstance(size, int):
            return False
        total += size
    return total <= SMALL


def save_model(named: NamedBlock, path: str) -> None:
    """Write a block as an ONNX file. Raises FileError."""
    from primsplit.onnxio.save import write_model

    with paused():
        write_model(make_model(named), path)


def save_functions(name: str, joint: NamedBlock, forward: NamedBlock, backward: NamedBlock, path: str) -> None:
    """Write a split as one file whose forward and pullback are model-local functions. Raises FileError."""
    from primsplit.onnxio.functions import to_function_model
    from primsplit.onnxio.save import write_model

    with paused():
        write_model(to_function_model(name, joint, forward, backward), path)


def read_model(path: str) -> Any:
    """The block of an ONNX file, with names: see `onnxio.load.Model`."""
    from primsplit.onnxio.load import load_model

    return load_model(path)


def kinds_in_file(path: str) -> list[str]:
    """The operator of every node of an ONNX file. Raises FileError."""
    from primsplit.onnxio.nodes import node_kinds

    return list(node_kinds(path))


def to_page(title: str, sections: Sequence[str]) -> str:
    """Listings as a page of HTML."""
    from primsplit.audit.page import to_page as rendered

    return rendered(title, sections)
