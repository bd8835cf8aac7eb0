"""Hooks are set by the modules that do what they ask for, some of which are imported only then."""

import inspect
import subprocess
import sys

import pytest

from primsplit.tracing.hooks import HOOKS, Hooks

NAMES = [name for name in inspect.get_annotations(Hooks) if not name.startswith("_")]


def test_importing_the_package_sets_each_hook_or_says_who_does() -> None:
    code = (
        "import primsplit.programs; from primsplit.tracing.hooks import HOOKS;"
        f"print([callable(getattr(HOOKS, name)) for name in {NAMES}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([True] * len(NAMES))


def test_a_hook_that_no_module_sets_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no module sets the hook 'unknown'"):
        _ = HOOKS.unknown


def test_a_module_is_imported_when_its_hook_is_first_asked_for() -> None:
    code = (
        "import sys, primsplit as ps; late = 'primsplit.frontends.python.conversion.running';"
        "ps.grad(lambda x: x * x)(2.0); print(late in sys.modules);"
        "ps.grad(lambda x: x * x if x > 0 else x)(2.0); print(late in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
