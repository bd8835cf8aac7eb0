"""What the command line imports on first use, so that `primsplit --help` is quick."""

from typing import Any


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
