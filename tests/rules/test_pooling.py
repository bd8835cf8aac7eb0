"""Derivatives of poolings."""

import pytest

from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of


@pytest.mark.parametrize("row", rows_of("pooling"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
