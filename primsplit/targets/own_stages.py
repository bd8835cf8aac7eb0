"""`stage`: add a pass of your own to the pipeline between a program and its file."""

from collections.abc import Callable
from difflib import get_close_matches

from primsplit.ir import Block, free
from primsplit.ir.errors import RuleError
from primsplit.ir.passes import groups
from primsplit.ops.inference import check_types
from primsplit.targets.pipeline import STAGES
from primsplit.targets.stages import OWN, OwnStage, Pass, Stage, Target
from primsplit.tracing.places import user_place
from primsplit.tracing.registering import check_takes, claim, module_of


def stage(
    why: str, *, before: str = "", kinds: str = "", rounds: bool = False, replace: bool = False
) -> Callable[[Pass], Pass]:
    """Register a pass over whole programs: it takes a Block and returns a Block of the same parameters and results.

    `why` is its purpose in a sentence. It runs before the stage `before` of the pipeline, which
    `primsplit rules --pipeline` lists, or last. `kinds` are groups of operators: "Log ReduceSum|ReduceMean" leaves out
    programs without a Log, and without one of the two reductions. `rounds` is True if results may differ in their last
    digits. A pass that has nothing to do returns the Block itself. What it raises ends the export, as does a Block
    whose types do not fit (RuleError). Raises RuleError for an unknown stage, and, unless `replace` is True, where
    another module has registered a stage of this name.

    >>> @extend.stage("Refuse operators that our build of the runtime leaves out.", kinds="Erf")
    ... def without_erf(block):
    ...     raise ValueError("our build of the runtime has no Erf")
    >>> from scipy import special
    >>> ps.trace(special.erf, ps.spec("float32", [3])).to_onnx()
    Traceback (most recent call last):
    ValueError: our build of the runtime has no Erf
    """
    names = [found.name for found in STAGES]
    if before and before not in names:
        near = get_close_matches(before, names)
        cure = f"Did you mean {' or '.join(near)}?" if near else "`primsplit rules --pipeline` lists the stages."
        raise RuleError(f"the pipeline has no stage {before!r}", place=user_place(), cure=cure)

    def register(run: Pass) -> Pass:
        name = getattr(run, "__name__", type(run).__name__)
        check_takes(run, f"the stage {name}", [1], cure="It takes the program, a Block.")
        if name in names:
            cure = "Give your function another name."
            raise RuleError(f"the pipeline has a stage {name} of its own", place=user_place(), cure=cure)
        known = OWN.get(name)
        claim("stage", name, None if known is None else known.owner, module_of(run), replace=replace)

        def checked(block: Block, _: Target) -> Block:
            found = run(block)
            return found if found is block else _fitting(name, block, found)

        OWN[name] = OwnStage(run, Stage(name, checked, why, "own", rounds, kinds=groups(kinds)), before)
        return run

    return register


def _fitting(name: str, before: Block, after: Block) -> Block:
    """Return the Block that a stage gave. Raises RuleError for one that cannot take the place of the one before."""
    if not isinstance(after, Block):
        raise RuleError(f"the stage {name} gave {type(after).__name__}, not a Block")
    if after.params != before.params or [r.type for r in after.results] != [r.type for r in before.results]:
        raise RuleError(f"the stage {name} changed the program's parameters, or the types of its results")
    known = frozenset(free(before))
    if unknown := [v for v in free(after) if v not in known]:
        raise RuleError(f"the program that the stage {name} gave reads {unknown[0]}, which nothing computes")
    check_types(after, closed=False)
    return after
