"""Put tables back as they were before a test that registers something."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primsplit.frontends.python.overrides import table as overrides
from primsplit.ir import runtimes
from primsplit.numpy.ufuncs import ELEMENTWISE
from primsplit.onnx.definitions import table as definitions
from primsplit.rewrites.decompositions.own import DECOMPOSED
from primsplit.rewrites.rewrites.patterns import PATTERNS
from primsplit.rules.table import FRULES, RULES
from primsplit.targets.stages import OWN
from primsplit.tracing.array import FUNCTIONS
from primsplit.tracing.registering import NAMED, Epoch, is_own, module_of
from primsplit.transforms.batching.table import BATCHING

TABLES: tuple[dict[Any, Any], ...] = (
    RULES, FRULES, BATCHING, FUNCTIONS, ELEMENTWISE, NAMED, DECOMPOSED, definitions.DEFINITIONS, definitions._VERSIONS,
    overrides._substitutes, OWN,
)  # fmt: skip


@contextmanager
def only_here(*tables: dict[Any, Any]) -> Iterator[None]:
    """Take out of the tables, by default all, what is registered inside; not what the package registers itself."""
    tables = tables or TABLES
    before, rewrites = [dict(table) for table in tables], list(PATTERNS.values())
    yield
    for rewrite in [found for found in PATTERNS.values() if found not in rewrites]:
        rewrite.remove()
    for cure in [found for found in runtimes._cured if not is_own(found)]:
        for fault in runtimes._cured.pop(cure):
            runtimes.FAULTS.pop(fault.name, None)
    for table, entries in zip(tables, before, strict=True):
        for key in [key for key in table if key not in entries and not _is_packages(table[key])]:
            del table[key]
        table.update(entries)
    Epoch.count += 1


def _is_packages(entry: Any) -> bool:
    """Whether a module of the package registered an entry."""
    if isinstance(entry, list):
        return all(map(_is_packages, entry))
    owner = entry.owner if hasattr(entry, "owner") else module_of(getattr(entry, "rule", entry))
    return owner.partition(".")[0] == "primsplit"
