"""What is checked of each row of a derivative rule in each run of the tests."""

from primsplit.testing import check_rrule
from tests.rules.row import Row

FAST = ["form", "closed", "primal", "differences", "linear", "sizes", "kinks", "forward"]


def check_derivative(row: Row) -> None:
    """Check that a rule gives the derivative in its promised form, without the checks that take long."""
    check_rrule(row.kind, *row.inputs, **{"only": FAST, **row.arguments})
