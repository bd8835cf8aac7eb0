"""A run of a converted function: which arrays it made, and which of them traced values are written to later."""

from typing import Any

import numpy as np

from primsplit.numpy import converted_run as runs
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from tests.recording import record


def test_a_function_is_converted_inside_alone() -> None:
    def program(x: Any) -> Any:
        assert not runs.is_converted()
        with runs.running_converted(frozenset()):
            assert runs.is_converted()
            assert not runs.expects_writes()
            with runs.running_plainly():
                assert not runs.is_converted()
            with runs.running_converted(frozenset(), traces_new=True):
                assert runs.expects_writes()
            assert runs.is_converted()
        assert not runs.is_converted()
        return x

    record(program, "float32[2]")
    with runs.running_converted(frozenset()):
        assert not runs.is_converted(), "nothing is recorded"


def test_an_array_is_known_by_the_instruction_that_made_it() -> None:
    def program(x: Any) -> Any:
        with runs.running_converted(frozenset()):
            made = np.zeros(3)
            assert not runs.is_written_later(made, [])
            place = runs.made_at(made)
            assert place is not None
            assert runs.made_at(made[1:]) == place
            assert runs.made_at(np.zeros(3)) is None
            assert runs.made_at(x) is None
            with runs.running_converted(frozenset({place})):
                # In a later run the same instruction makes an array that is written to.
                assert runs.made_at(made) == place
        assert runs.made_at(made) is None
        return x

    record(program, "float32[2]")


def test_an_array_that_shares_memory_with_a_source_is_not_new() -> None:
    def program(x: Any) -> Any:
        with runs.running_converted(frozenset()):
            array = np.zeros(3)
            assert not runs.is_written_later(array[:2], [array])
            assert runs.made_at(array) is None
        return x

    record(program, "float32[2]")


def test_an_instruction_whose_arrays_are_written_to_makes_traced_ones() -> None:
    def made() -> tuple[bool, Any]:
        array = np.zeros(3)
        return runs.is_written_later(array, []), runs.made_at(array)

    def program(x: Any) -> Any:
        found: list[Any] = [frozenset()]
        for _ in range(2):
            with runs.running_converted(found[-1]):
                found += [made()]
            found += [frozenset({found[-1][1]})]
        assert found[1][0] is False
        assert found[3][0] is True
        return x

    record(program, "float32[2]")


def test_numbers_are_known_in_a_converted_function_alone() -> None:
    def program(x: Any) -> Any:
        known = as_array(np.array([1.0, 2.0]))
        assert runs.known_arrays([known]) is None
        with runs.running_converted(frozenset()):
            found = runs.known_arrays([known, 3.0])
            assert found is None
            (values,) = runs.known_arrays([known]) or [None]
            np.testing.assert_array_equal(values, [1.0, 2.0])
            assert runs.known_arrays([known, x]) is None
        return Array(x.value)

    record(program, "float32[2]")
