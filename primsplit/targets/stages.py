"""A stage on the way from a program to a file: a pass, with the reason for it and what it needs.

`pipeline.py` is the table of stages.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Literal

from primsplit.ir import Block, Op
from primsplit.ir.providers import Provider
from primsplit.ir.runtimes import OLDEST, Fault, Runtime, cured_by
from primsplit.rewrites import optimize
from primsplit.rewrites.rematerialize import LATER
from primsplit.tracing.registering import module_of

Purpose = Literal["form", "speed", "fault", "digits", "own"]
"""The purpose of a stage: a file cannot hold the program otherwise, or it runs faster, or a runtime would compute it
wrongly or lose digits. "own" is a stage of the user's.
"""
Need = Literal["cpu", "gradients", "program"]
"""The only targets of a stage: files for the CPU, files with gradients, or programs that are no function of a file."""


@dataclass(frozen=True, slots=True)
class Target:
    """The purpose of a file.

    `gradients` are the positions of results that are gradients of parameters. A function's block is inlined by
    onnxruntime between ops that are not known here. With `keep_calls`, calls that are to stay are left for the writer.
    """

    gradients: Sequence[int] = ()
    is_function: bool = False
    keep_calls: bool = False
    provider: Provider = "cpu"
    runtime: Runtime = OLDEST

    def meets(self, needs: Set[Need]) -> bool:
        """Whether the target has all of these needs."""
        has = {"cpu": self.provider == "cpu", "gradients": bool(self.gradients), "program": not self.is_function}
        return all(has[need] for need in needs)

    def stays(self, op: Op) -> bool:
        """Whether a call is not inlined."""
        return op.kind == LATER or (self.keep_calls and op.attributes.get("inline") is False)


Run = Callable[[Block, Target], Block]


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass. `why` is its purpose in a sentence.

    `rounds` is True if results may differ in their last digits; all other stages keep every bit. `then` tidies up if
    the stage changed something. `faults` are those that it works around: if a runtime has none of them, the stage is
    left out. `kinds` are groups of operators: a block is not walked unless it has one of each. `bench` is a
    row of `tools/bench` in which the stage changes something, as `densities gauss` of `tools/bench/densities.py`.
    `parts` are stages that it runs itself.
    """

    name: str
    run: Run
    why: str
    purpose: Purpose
    rounds: bool = False
    needs: frozenset[Need] = field(default_factory=frozenset)
    then: Run | None = None
    faults: tuple[Fault, ...] = ()
    kinds: tuple[frozenset[str], ...] = ()
    bench: str = ""
    parts: tuple["Stage", ...] = ()

    def apply(self, block: Block, target: Target) -> Block:
        """Return the block after the stage; itself if the stage is not for this target, or has nothing to do in it."""
        if not target.meets(self.needs) or any(kinds.isdisjoint(block.kinds) for kinds in self.kinds):
            return block
        if self.faults and not any(target.runtime.has(fault.name) for fault in self.faults):
            return block
        found = self.run(block, target)
        return found if found is block or self.then is None else self.then(found, target)


Pass = Callable[[Block], Block]


@dataclass(frozen=True, slots=True)
class OwnStage:
    """A user's pass, its stage, and the stage of the pipeline that it runs before ("" for the end)."""

    run: Pass
    stage: Stage
    before: str

    @property
    def owner(self) -> str:
        """The module that registered it."""
        return module_of(self.run)


OWN: dict[str, OwnStage] = {}
"""The stages that users registered, by name: see `own_stages.stage`."""


def plain(
    run: Pass,
    purpose: Purpose,
    why: str,
    *needs: Need,
    kinds: str = "",
    bench: str = "",
    rounds: bool = False,
) -> Stage:
    """Return a stage that does not depend on the target. For `kinds` see `groups`."""
    made = Stage(run.__name__, lambda block, _: run(block), why, purpose, rounds, frozenset(needs))
    return replace(made, kinds=groups(kinds), bench=bench)


def groups(kinds: str) -> tuple[frozenset[str], ...]:
    """Read groups of operators: "Log ReduceSum|ReduceMean" is a Log, and one of two reductions."""
    return tuple(frozenset(group.split("|")) for group in kinds.split())


def around(run: Pass, why: str, *needs: Need, rounds: bool = False) -> Stage:
    """Return a stage that works around faults of a runtime."""
    return replace(plain(run, "fault", why, *needs, rounds=rounds), faults=cured_by(run))


def around_some(run: Callable[[Block, Runtime], Block], why: str, *, rounds: bool = False) -> Stage:
    """Return a stage that works around several faults, of which a runtime may have some."""
    name, faults = run.__name__, cured_by(run)
    return Stage(name, lambda block, target: run(block, target.runtime), why, "fault", rounds, faults=faults)


def of_gradients(
    run: Callable[[Block, Sequence[int]], Block], why: str, *, kinds: str = "", bench: str = "", rounds: bool = False
) -> Stage:
    """Return a stage that speeds up only ops that gradients need: a function's values are never rounded differently."""
    needs: frozenset[Need] = frozenset({"gradients"})
    made = Stage(run.__name__, lambda block, target: run(block, target.gradients), why, "speed", rounds, needs)
    return replace(made, kinds=groups(kinds), bench=bench)


def tidied(run: Pass, why: str, *, kinds: str, bench: str = "") -> Stage:
    """Return a stage for speed after which the block is optimized again."""
    return replace(plain(run, "speed", why, kinds=kinds, bench=bench), then=lambda block, _: optimize(block))


def in_turn(stages: Iterable[Stage], block: Block, target: Target) -> Block:
    """Return the block after these stages."""
    for stage in stages:
        block = stage.apply(block, target)
    return block
