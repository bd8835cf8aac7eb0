"""Modules that are imported for what they register: rules, definitions, implementations."""

from importlib import import_module
from types import ModuleType


def import_families(package: str, *names: str) -> tuple[ModuleType, ...]:
    """The modules of a package, imported in this order."""
    return tuple(import_module(f"{package}.{name}") for name in names)
