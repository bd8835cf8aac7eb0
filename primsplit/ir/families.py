"""Import modules for what they register: rules, definitions, implementations."""

from importlib import import_module
from types import ModuleType


def import_families(package: str, *names: str) -> tuple[ModuleType, ...]:
    """Import these modules of a package in order, and return them."""
    return tuple(import_module(f"{package}.{name}") for name in names)
