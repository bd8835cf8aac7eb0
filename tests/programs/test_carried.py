"""The states of a program: their values by name, and the inputs and outputs that carry them."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError
from primsplit.programs.carried import Carried, StatePair, Values


def made() -> tuple[Values, list[Carried]]:
    pairs = [
        StatePair("mean", "state.mean.in", "state.mean.out", np.zeros(2)),
        StatePair("rate", "state.rate.in", None, np.array(0.5)),
    ]
    carried = Carried.of(pairs)
    return Values(carried), carried


def test_values_of_states_are_copies_that_may_be_set_and_restarted() -> None:
    values, _ = made()
    assert [*values] == ["mean", "rate"]
    values["mean"][0] = 9.0
    np.testing.assert_array_equal(values["mean"], [0.0, 0.0])
    values["mean"] = [1.0, 2.0]
    values["rate"] = 0.25
    np.testing.assert_array_equal(values["mean"], [1.0, 2.0])
    values.reset()
    np.testing.assert_array_equal(values["mean"], [0.0, 0.0])
    assert float(values["rate"]) == 0.5


def test_a_state_that_is_not_there_is_an_error_and_a_missing_key() -> None:
    values, _ = made()
    assert values.get("none") is None
    assert "none" not in values
    with pytest.raises(SpecError, match="there is no state none") as raised:
        values["none"]
    assert "mean, rate" in str(raised.value)
    with pytest.raises(SpecError, match="cannot be taken away"):
        del values["mean"]
    with pytest.raises(ps.PrimsplitError):
        values["mean"] = np.ones(3)


def test_a_program_of_its_own_starts_at_the_initial_values_and_describes_the_same_file() -> None:
    values, (mean, rate) = made()
    values["mean"] = [1.0, 2.0]
    own = mean.own()
    np.testing.assert_array_equal(own.state.now, [0.0, 0.0])
    assert own.name == "mean"
    assert (own.pair.input, own.pair.output) == ("state.mean.in", "state.mean.out")
    assert rate.pair.output is None
