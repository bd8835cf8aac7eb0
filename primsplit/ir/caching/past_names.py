"""Find out whether a function comes to an object otherwise than by a name in its code: a container, an attribute."""

import types
from typing import Any

import numpy as np

from primsplit.ir.caching.fingerprint import DEPTH, OPAQUE, Reading, is_library


def met_past_names(value: Any, ids: frozenset[int]) -> bool:
    """Whether a fingerprint comes to objects of these ids otherwise than by names in code of the user's functions."""
    looking = _PastNames(live=ids)
    looking.of(value, DEPTH)
    return not ids.isdisjoint(looking.seen) or looking.is_strange


class _PastNames(Reading):
    """A walk that passes over arrays where the user's functions name them; `is_strange` if it meets other libraries."""

    skips_notes = False
    is_strange = False

    def read(self, value: Any, names: frozenset[str], depth: int) -> Any:
        return None if id(value) in self.live else super().read(value, names, depth)

    def function(self, function: types.FunctionType, depth: int) -> Any:
        module = function.__module__ or ""
        self.is_strange |= is_library(module) and module.partition(".")[0] not in OPAQUE
        return super().function(function, depth)

    def array(self, value: np.ndarray[Any, Any], depth: int) -> Any:
        return super().array(value, depth) if value.dtype.hasobject else None
