"""Lists, arrays and objects that statements can reach from the names they read."""

import numpy as np

from primsplit.frontends.python.conversion.holders import held, reached


def test_the_numbers_of_a_table_are_not_looked_at_one_by_one() -> None:
    array = np.zeros(3)
    table = {"numbers": [float(k) for k in range(1000)], "more": [array, 1, "text"]}
    assert len([*reached([table], held)]) == 4
    assert any(part is array for part in reached([table], held))
