"""Give the variables of a file names that Python takes: `params.layer1.w` is `params_layer1_w`."""

import builtins
import keyword
from collections.abc import Iterable
from itertools import count

from primsplit.programs.python_text import identifier

RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "special"})
"""Names that statements read as Python's, NumPy's or SciPy's."""


class Identifiers:
    """Gives unique names: none that is taken, none that begins with `_`, as helper functions do."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = {*taken}

    def give(self, wanted: str) -> str:
        """Return a new name: the wanted one as letters, digits and `_`, with a number where it is taken."""
        stem = identifier(wanted or "value").lstrip("_") or "value"
        stem = stem if stem.isidentifier() else f"value_{stem}"
        found = f"{stem}_" if stem in RESERVED else stem
        numbers = count(1)
        while found in self.taken or found in RESERVED:
            found = f"{stem}_{next(numbers)}"
        self.taken.add(found)
        return found
