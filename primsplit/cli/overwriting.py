"""Refuses to write over a file that the command reads."""

import os

from primsplit.ir.errors import SpecError


def keep_apart(option: str, written: str | None, *read: str | None, form: str = "joint") -> None:
    """Raise SpecError if the file that an option names, or one of the pair, is one that the command reads."""
    for path in read:
        if written is not None and path is not None and any(_is_one(w, path) for w in files_of_output(written, form)):
            raise SpecError(
                f"{option} {written} would be written over {path}, which is read", cure="Name another file."
            )


def files_of_output(path: str, form: str = "joint") -> list[str]:
    """The files that a program may be written to, and those of its data."""
    stem = os.path.splitext(path)[0]
    models = [path] if form != "split" else [f"{stem}.{part}.onnx" for part in ("forward", "backward", "linear")]
    return [*models, *(f"{model}.data" for model in models)]


def _is_one(a: str, b: str) -> bool:
    """Return whether two names mean one file, even if it does not exist yet."""
    if os.path.exists(a) and os.path.exists(b):
        return os.path.samefile(a, b)
    return os.path.realpath(a) == os.path.realpath(b)
