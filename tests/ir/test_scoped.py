"""Values that a thread has inside of a `with` block."""

import dataclasses
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from primsplit.ir import scoped
from primsplit.ir.scoped import Scoped, as_block


@dataclasses.dataclass(frozen=True)
class Unsettable(Exception):
    """An error whose attributes cannot be set."""

    index: int


def test_a_block_sets_the_value_of_this_thread_and_restores_it() -> None:
    depth, others = Scoped(int), list[int]()
    with depth.set_to(1) as given:
        with depth.set_to(2):
            thread = threading.Thread(target=lambda: others.append(depth.value))
            thread.start()
            thread.join()
            assert depth.value == 2
        assert (depth.value, given) == (1, 1)
    assert (depth.value, others) == (0, [0])


def test_an_error_restores_the_value() -> None:
    depth = Scoped(int)
    with pytest.raises(ValueError, match="inside"), depth.set_to(1):
        raise ValueError("inside")
    assert depth.value == 0


def test_the_end_of_a_block_ends_those_inside_that_were_left_open() -> None:
    depth, name = Scoped(int), Scoped(str)
    with depth.set_to(1):
        name.set_to("left").__enter__()
        depth.set_to(2).__enter__()
        assert (depth.value, name.value) == (2, "left")
    assert (depth.value, name.value) == (0, "")


def test_a_block_that_ends_late_changes_nothing() -> None:
    depth = Scoped(int)
    late, other = depth.set_to(2), Scoped(int)
    with depth.set_to(1):
        late.__enter__()
    with depth.set_to(3), other.set_to(4):
        late.__exit__(None, None, None)
        assert (depth.value, other.value) == (3, 4)
    late.__exit__(None, None, None)
    assert (depth.value, other.value) == (0, 0)


def test_an_error_thrown_at_any_line_of_the_blocks_leaves_nothing_behind() -> None:
    depth, name, thrown = Scoped(int), Scoped(str), 0

    def run(at: int) -> bool:
        """Run three blocks, with an error at one of the lines and calls in them; return whether there are as many."""
        seen = 0

        def throw(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal seen
            if frame.f_code.co_filename == scoped.__file__ and event in {"call", "line"}:
                seen += 1
                if seen == at:
                    raise KeyboardInterrupt
            return throw

        before = sys.gettrace()
        try:
            sys.settrace(throw)
            with depth.set_to(1), name.set_to("a"), depth.set_to(2):
                pass
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False

    while True:
        with depth.set_to(5):
            if not run(thrown + 1):
                break
            thrown += 1
        assert (depth.value, name.value) == (0, "")
    assert thrown > 20
    assert (depth.value, name.value) == (0, "")


def test_a_block_of_a_generator_is_contextlibs_but_sets_nothing_of_an_error() -> None:
    told = list[str]()

    @as_block
    def telling(text: str, *, hides: type[Exception] = KeyError) -> Iterator[str]:
        try:
            yield text
        except hides:
            told.append("hidden")
        except ZeroDivisionError as error:
            raise ArithmeticError from error
        finally:
            told.append("ended")

    with telling("given") as given:
        assert (given, told) == ("given", [])
    with telling("given"):
        raise KeyError
    assert told == ["ended", "hidden", "ended"]
    with pytest.raises(ArithmeticError), telling("given"):
        raise ZeroDivisionError
    with pytest.raises(ValueError, match="passes"), telling("given"):
        raise ValueError("passes")
    with pytest.raises(StopIteration), telling("given"):
        raise StopIteration
    frozen = Unsettable(3)
    with pytest.raises(Unsettable) as caught, telling("given"):
        raise frozen
    assert caught.value is frozen
