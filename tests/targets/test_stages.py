"""A stage walks what it is for, tidies up behind itself, and changes something in the bench that it names."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Block
from primsplit.ir.passes import groups
from primsplit.targets.pipeline import STAGES
from primsplit.targets.stages import Stage, Target
from tools.bench.stages import rows_of
from tools.bench.suite import rows


@pytest.mark.sweep(2)
@pytest.mark.parametrize("bench", sorted({stage.bench for stage in STAGES if stage.bench}))
def test_each_stage_changes_something_in_its_row(bench: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed: set[str] = set()
    apply = Stage.apply

    def noted(self: Stage, block: Block, target: Target) -> Block:
        found = apply(self, block, target)
        if found is not block:
            changed.add(self.name)
        return found

    monkeypatch.setattr(Stage, "apply", noted)
    rows()[rows_of(bench)[0]].ours(1)
    assert {stage.name for stage in STAGES if stage.bench == bench} - changed == set()


def test_each_stage_for_speed_names_a_row() -> None:
    assert not {stage.name for stage in STAGES if stage.purpose == "speed" and not stage.bench}


def recorded() -> Block:
    """A block with a Log and a ReduceSum, and without loops."""
    return ps.trace(lambda x: np.sum(np.log(x)), np.ones(3)).block


def test_what_follows_a_stage_is_done_where_it_changed_something() -> None:
    block = recorded()
    other = Block("other", block.params, block.ops, block.results)
    done: list[Block] = []

    def note(block: Block, _: Target) -> Block:
        done.append(block)
        return block

    assert Stage("kept", lambda b, _: b, "Keep.", "speed", then=note).apply(block, Target()) is block
    assert done == []
    assert Stage("changed", lambda b, _: other, "Change.", "speed", then=note).apply(block, Target()) is other
    assert done[0] is other


def test_a_block_without_the_kinds_of_a_stage_is_not_walked() -> None:
    block = recorded()

    def run(block: Block, _: Target) -> Block:
        raise AssertionError("walked")

    for kinds in ("Scan", "Scan|Loop", "Log Scan"):
        assert Stage("some", run, "Rewrite Scans.", "speed", kinds=groups(kinds)).apply(block, Target()) is block
    for kinds in ("", "Log", "Scan|Log", "Log ReduceSum"):
        with pytest.raises(AssertionError, match="walked"):
            Stage("some", run, "Rewrite sums.", "speed", kinds=groups(kinds)).apply(block, Target())
