"""A sample of `tools/domains.py`: functions of SciPy and NumPy inside of their domains, at the ends and beyond."""

import pytest

from tools.domains import Subject, judged, subjects

SUBJECTS = list(subjects([]))
QUICK, SOME = 60, 8
"""Of so many functions one is tried each time, and of so many one among the slow tests."""


@pytest.mark.parametrize("subject", SUBJECTS[::QUICK], ids=lambda s: s.name)
def test_a_function_is_scipys_or_nan_in_value_and_gradient(subject: Subject) -> None:
    found, _ = judged(subject, 100, 0)
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS[1::SOME], ids=lambda s: s.name)
def test_more_functions_are(subject: Subject) -> None:
    found, _ = judged(subject, 300, 1)
    assert not found
