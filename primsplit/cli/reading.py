"""Note the files that a user's program opens to read, such as its weights: no output may take their place.

Python tells its audit hooks of each file that it opens, whichever function opens it. A hook stays for as long as its
process lives, which is that of the command line; it does nothing but inside of `noting`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class _Hook:
    """The one hook of this process, and the sets that paths are noted in now."""

    is_added = False
    open: ClassVar[list[set[str]]] = []

    @classmethod
    def hear(cls, event: str, told: tuple[Any, ...]) -> None:
        """Note a file that is opened to read. Files of compiled code are no user's."""
        if event != "open" or not cls.open or not isinstance(told[0], str | bytes):
            return
        path, flags = os.fsdecode(told[0]), told[2]
        if flags & (os.O_WRONLY | os.O_TRUNC) or path.endswith(".pyc"):
            return
        for paths in cls.open:
            paths.add(os.path.abspath(path))


@contextmanager
def noting() -> Iterator[set[str]]:
    """Yield a set, and put the paths of all files into it that Python opens inside to read."""
    if not _Hook.is_added:
        _Hook.is_added = True
        sys.addaudithook(_Hook.hear)
    paths: set[str] = set()
    _Hook.open.append(paths)
    try:
        yield paths
    finally:
        _Hook.open[:] = [each for each in _Hook.open if each is not paths]
