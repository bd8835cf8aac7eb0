"""Run a program that returns no array: there is nothing to run."""

from collections.abc import Mapping, Sequence
from typing import Any

from primsplit.ir import Block, walk
from primsplit.ir.errors import SpecError
from primsplit.tracing.branching.raising import RAISES


class NoResults:
    """Replaces the session of a program that computes nothing."""

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Return no array."""
        return []

    def run_into(self, feeds: Mapping[str, Any], buffers: Sequence[Any]) -> list[Any]:
        """Return no array: nothing is written."""
        return []


def nothing_to_run(block: Block) -> NoResults:
    """Return the replacement of a session. Raises SpecError if that would hide an error that the function raises."""
    failing = next((op for op in walk(block) if op.kind == RAISES), None)
    if failing is not None:
        raise SpecError(
            f"{block.name} returns no array, and {failing.remark} on one of its paths: no result would show that",
            place=failing.place,
            cure="Return an array, or check the arguments outside of the function.",
        )
    return NoResults()
