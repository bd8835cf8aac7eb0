"""Put tables back as they were before a test that registers something."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from primsplit.tracing.registering import Epoch, module_of


@contextmanager
def only_here(*tables: dict[Any, Any]) -> Iterator[None]:
    """Take out of the tables what is registered inside, but for what modules of the package register when they load."""
    before = [dict(table) for table in tables]
    yield
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
