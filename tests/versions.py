"""Marks for what the installed onnxruntime, onnx or NumPy is too old for: each names the version, and why."""

import importlib

import pytest


def installed(library: str) -> tuple[int, ...]:
    """The version of a library, as numbers that compare."""
    parts = str(importlib.import_module(library).__version__).split(".")
    return tuple(int(part) for part in parts[:3] if part.isdigit())


def is_since(library: str, version: str) -> bool:
    """Whether the library is of this version or a later one."""
    return installed(library) >= tuple(int(part) for part in version.split("."))


def since(library: str, version: str, reason: str) -> pytest.MarkDecorator:
    """A mark that skips a test, or a row of one, where the library is older. `reason` is what it does there."""
    return pytest.mark.skipif(not is_since(library, version), reason=f"{library} before {version}: {reason}")


UNDERFLOW = 0.0 if is_since("onnxruntime", "1.21") else 6e-309
"""The largest float64 exponential of an underflowing number: onnxruntime before 1.21 gives 5.6e-309 for exp(-inf)."""
