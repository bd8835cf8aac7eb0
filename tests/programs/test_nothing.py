"""Programs that return no array."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ir.errors import SpecError
from primsplit.programs.nothing import nothing_to_run


def test_a_program_of_no_results_gives_none() -> None:
    session = nothing_to_run(Block("f", (), (), ()))
    assert session.run({"x": np.zeros(3)}) == []
    assert session.run_into({}, []) == []
    assert ps.trace(lambda x: (), np.ones(2))(np.ones(2)) == ()


def test_an_error_that_no_result_would_show_is_refused() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 0:
            raise ValueError("positive")
        return ()

    with pytest.raises(SpecError, match="returns no array"):
        ps.trace(f, np.ones(2))(np.ones(2))
