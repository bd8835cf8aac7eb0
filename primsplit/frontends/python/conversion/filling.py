"""Notes the owner of a method such as `append` or `update` before the call, and checks methods of other owners.

A list, a dictionary or an array is noted in the journal. The name may also be that of a function of a module, as
`np.append`, or of a method of the user's, as `filter.update`: these must change nothing, or note what they change.
"""

import types
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.harmless import Callers, files_to_note, is_harmless
from primsplit.frontends.python.conversion.holders import is_users_object
from primsplit.frontends.python.conversion.journal import changing, is_container, open_at
from primsplit.tracing.array import Array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.complex_array import ComplexArray


def filling(owner: Any, name: str) -> Any:
    """Return the owner of a method that is called next, after noting or checking it if a side is being recorded."""
    at = open_at()
    if at is None or is_container(owner) or isinstance(owner, Array | ComplexArray | np.ndarray):
        return changing(owner)
    if not isinstance(owner, types.ModuleType) and not is_users_object(owner):
        raise NotJoined(at, f"it calls {name} of a {type(owner).__name__}, which may change it")
    if not is_harmless(("its owner", name), lambda _: owner, Callers(harmless={})):
        raise NotJoined(at, f"it calls {name} of a {type(owner).__name__}", files_to_note([owner]))
    return owner
