"""The errors of checks say which check failed, and tests that meet them fail."""

import pytest

from primsplit.testing.failures import CheckFailed, GradientMismatch


def test_a_failed_check_says_which_one_it_is() -> None:
    error = CheckFailed("shape", "it is (2,) and not (3,)")
    assert error.check == "shape"
    assert str(error) == "shape: it is (2,) and not (3,)"


@pytest.mark.parametrize("error", [CheckFailed("shape", "it is (2,)"), GradientMismatch("0.5 is not 0.25")])
def test_it_is_a_failed_assertion(error: AssertionError) -> None:
    with pytest.raises(AssertionError):
        raise error
