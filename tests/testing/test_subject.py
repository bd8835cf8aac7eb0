"""What a rule is checked as: a function beside itself in NumPy, a primitive, an operator in its domain."""

import numpy as np

from primsplit.testing import check_rrule
from tests.testing.breaking import WIDE, F


def test_a_function_is_checked_against_itself_in_numpy() -> None:
    check_rrule(lambda x, y: (np.sin(x) * y, x - y), WIDE, F)


def test_a_sampler_keeps_inside_its_domain() -> None:
    check_rrule("Log", F, domain=lambda random, shape: random.uniform(0.5, 2.0, shape))
    check_rrule("Div", F, F, domain=[(-1.0, 1.0), (0.5, 1.5)])
