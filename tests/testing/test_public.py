"""The public names of the checks."""

import subprocess
import sys

import pytest

import primsplit as ps
from primsplit import testing


def test_testing_is_an_attribute_of_the_package() -> None:
    assert ps.testing is testing
    assert set(testing.__all__) <= set(dir(testing))


def test_an_editor_is_offered_the_public_names_and_no_modules() -> None:
    assert {*dir(ps)} == {*ps.__all__, "extend", "testing", "__version__"}
    assert all(hasattr(ps, name) for name in dir(ps))


def test_an_attribute_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        ps.nonsense  # noqa: B018


def test_the_checks_are_loaded_when_they_are_asked_for() -> None:
    code = "import sys, primsplit as ps; before = 'onnxruntime' in sys.modules; ps.testing.check_rrule; print(before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
