"""Substitutes for functions of libraries: those of SciPy are registered where SciPy is loaded."""

import cmath
import math
import sys

import numpy as np
import pytest
import scipy.special

from primsplit.frontends.python.overrides import libraries
from primsplit.frontends.python.overrides.table import is_stood_in_for


def test_substitutes_of_scipy_are_registered_once_scipy_is_loaded() -> None:
    libraries.register_scipys()
    assert is_stood_in_for(scipy.special.logsumexp)


def test_nothing_of_scipys_is_imported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "scipy")
    monkeypatch.setattr(libraries, "import_families", lambda *_: pytest.fail("the substitutes were imported"))
    libraries.register_scipys()


@pytest.mark.parametrize("function", [np.zeros, np.nditer, math.hypot, cmath.polar])
def test_functions_of_numpy_and_of_pythons_numbers_have_substitutes(function: object) -> None:
    assert is_stood_in_for(function)
