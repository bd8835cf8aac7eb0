"""What a command reads, it does not write over."""

import os

from primsplit.errors import SpecError


def keep_apart(option: str, written: str | None, *read: str | None) -> None:
    """Raise SpecError where the file that an option names is one that the command reads."""
    if written is None or not os.path.exists(written):
        return
    for path in read:
        if path is not None and os.path.exists(path) and os.path.samefile(written, path):
            raise SpecError(
                f"{option} {written} would be written over {path}, which is read", cure="Name another file."
            )
