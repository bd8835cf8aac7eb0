"""A stage on the way from a program to a file: a pass, with the reason for it and what it needs.

`pipeline.py` is the table of stages.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from primsplit.ir import Block, Op
from primsplit.ir.passes import Condition, Kinds, groups, has_each, imported, pass_named
from primsplit.ir.providers import Provider
from primsplit.ir.runtimes import OLDEST, Fault, Runtime, cured_by
from primsplit.rewrites import optimize
from primsplit.rewrites.rematerialize import LATER
from primsplit.tracing.registering import module_of

Purpose = Literal["form", "speed", "fault", "digits", "own"]
"""The purpose of a stage: a file cannot hold the program otherwise, or it runs faster, or a runtime would compute it
wrongly or lose digits. "own" is a stage of the user's.
"""
Need = Literal["cpu", "gradients", "values", "program"]
"""The only targets of a stage: files for the CPU, with gradients or without, or programs that are no function of a
file."""


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
        has = {
            "cpu": self.provider == "cpu",
            "gradients": bool(self.gradients),
            "values": not self.gradients,
            "program": not self.is_function,
        }
        return all(has[need] for need in needs)

    def stays(self, op: Op) -> bool:
        """Whether a call is not inlined."""
        return op.kind == LATER or (self.keep_calls and op.attributes.get("inline") is False)


Run = Callable[[Block, Target], Block]


@dataclass(frozen=True, slots=True)
class Stage:
    """One pass. `why` is its purpose in a sentence.

    `rounds` is True if results may differ in their last digits; all other stages keep every bit. `then` tidies up if
    the stage changed something. `kinds` are groups of operators: a block is not walked unless it has one of each, and
    meets the condition `has`.
    `path` is the pass of the package that it runs, as in `pass_named`; "" for none. `bench` is a row of `tools/bench`
    in which the stage changes something, as `densities gauss` of `tools/bench/densities.py`. `parts` are stages that
    it runs itself.
    """

    name: str
    run: Run
    why: str
    purpose: Purpose
    rounds: bool = False
    needs: frozenset[Need] = field(default_factory=frozenset)
    then: Run | None = None
    kinds: Kinds = ()
    has: Condition | None = None
    path: str = ""
    bench: str = ""
    parts: tuple["Stage", ...] = ()

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that it works around. If a runtime has none of them, the stage is left out."""
        return cured_by(pass_named(self.path)) if self.path and self.purpose == "fault" else ()

    def apply(self, block: Block, target: Target) -> Block:
        """Return the block after the stage; itself if the stage is not for this target, or has nothing to do in it."""
        if not target.meets(self.needs) or not has_each(block, self.kinds):
            return block
        if self.has is not None and not self.has(block):
            return block
        faults = self.faults
        if faults and not any(target.runtime.has(fault.name) for fault in faults):
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


def _stage(path: str, run: Run, why: str, purpose: Purpose, kinds: str, **rest: Any) -> Stage:
    return Stage(path.rpartition(".")[2], run, why, purpose, kinds=groups(kinds), path=path, **rest)


def plain(
    path: str,
    purpose: Purpose,
    why: str,
    *needs: Need,
    kinds: str = "",
    has: Condition | None = None,
    bench: str = "",
    rounds: bool = False,
) -> Stage:
    """Return a stage that does not depend on the target. For `path` see `pass_named`, for `kinds` see `groups`."""
    run = imported(path)
    rest = {"needs": frozenset(needs), "has": has, "bench": bench, "rounds": rounds}
    return _stage(path, lambda block, _: run(block), why, purpose, kinds, **rest)


def of_calls(path: str, purpose: Purpose, why: str, *, bench: str = "", rounds: bool = False) -> Stage:
    """Return a stage for programs with calls; `Target.stays` tells it which of them to leave alone."""
    run = imported(path)
    return _stage(
        path, lambda block, target: run(block, target.stays), why, purpose, "call::*", bench=bench, rounds=rounds
    )


def around(path: str, why: str, *needs: Need, kinds: str, has: Condition | None = None, rounds: bool = False) -> Stage:
    """Return a stage that works around faults of a runtime."""
    return plain(path, "fault", why, *needs, kinds=kinds, has=has, rounds=rounds)


def around_some(path: str, why: str, *, kinds: str, rounds: bool = False) -> Stage:
    """Return a stage that works around several faults, of which a runtime may have some."""
    run = imported(path)
    return _stage(path, lambda block, target: run(block, target.runtime), why, "fault", kinds, rounds=rounds)


def around_in_functions(path: str, why: str, *, kinds: str, has: Condition) -> Stage:
    """Return a stage as that of `around_some` which must know whether the block is a function's. It rounds."""
    run = imported(path)
    return _stage(
        path,
        lambda block, target: run(block, target.runtime, is_function=target.is_function),
        why,
        "fault",
        kinds,
        has=has,
        rounds=True,
    )


def of_gradients(
    path: str, why: str, *, kinds: str = "", has: Condition | None = None, bench: str = "", rounds: bool = False
) -> Stage:
    """Return a stage that speeds up only ops that gradients need: a function's values are never rounded differently."""
    run = imported(path)
    needs: frozenset[Need] = frozenset({"gradients"})
    return _stage(
        path,
        lambda block, target: run(block, target.gradients),
        why,
        "speed",
        kinds,
        needs=needs,
        has=has,
        bench=bench,
        rounds=rounds,
    )


def tidied(path: str, why: str, *, kinds: str, bench: str = "") -> Stage:
    """Return a stage for speed after which the block is optimized again."""
    return replace(plain(path, "speed", why, kinds=kinds, bench=bench), then=lambda block, _: optimize(block))


def in_turn(stages: Iterable[Stage], block: Block, target: Target) -> Block:
    """Return the block after these stages."""
    for stage in stages:
        block = stage.apply(block, target)
    return block
