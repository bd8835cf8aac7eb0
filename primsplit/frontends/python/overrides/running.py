"""Runs a function again with substitutes for functions that ask a traced value for a number."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from primsplit import tracing
from primsplit.frontends.python.copies import copied
from primsplit.frontends.python.overrides.copying import copying_of
from primsplit.frontends.python.overrides.libraries import register_scipys, slots_of_libraries
from primsplit.frontends.python.overrides.names import slots_of_names
from primsplit.frontends.python.overrides.slots import Filled, Slot, filled
from primsplit.numpy.second_run import is_again, running_again
from primsplit.tracing.hooks import HOOKS

Run = Callable[..., Any]
Written = frozenset[tracing.Instruction]


def again(run: Run, written: Written, packages: frozenset[str], in_names: bool) -> AbstractContextManager[Run] | None:
    """What lets `run` read substitutes, which it gives a copy of; None where names mean these already.

    Arrays that NumPy makes by the instructions `written` are traced ones, since they are written to. The modules of
    the installed `packages` are taken for the user's. With `in_names`, names themselves hold substitutes, as they do
    where copies would not read them.
    """
    return None if is_again() else _again(run, written, packages, in_names)


HOOKS.run_again = again


@contextmanager
def _again(run: Run, written: Written, packages: frozenset[str], in_names: bool) -> Iterator[Run]:
    with Filled.lock:
        register_scipys()
        found = None if in_names or packages else copying_of(run)
    if found is None:
        with filled(lambda: slots_of_names(run), packages), running_again(written):
            yield run
        return
    copying, slots = found

    def open_slots() -> Iterator[Slot]:
        yield from slots()
        yield from slots_of_libraries(run)

    with filled(open_slots, packages), copied(run, copying) as copy, running_again(written):
        yield copy
