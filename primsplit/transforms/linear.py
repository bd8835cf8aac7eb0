"""List the linear lists of a block, tangent or pullback, for one of their seeds at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from primsplit.ir import Block, Op, Renaming, Var, live_ops, own_symbols, rename, renamed, same_types
from primsplit.ir.analysis.dependence import dependent
from primsplit.transforms.batching.random import draws
from primsplit.transforms.split import split_whole
from primsplit.transforms.tangents.pushforward import push_whole

Mode = Literal["forward", "reverse"]


@dataclass(frozen=True, slots=True)
class Linear:
    """A program with a linear list, which maps captures and one seed a source to one result a target.

    Forward, sources are positions of parameters and targets those of results; in reverse it is the other way round.
    """

    primal: Block
    listed: Block
    captures: tuple[Var, ...]
    sources: tuple[int, ...]
    targets: tuple[int, ...]

    def of_one(self, source: int) -> "Linear":
        """Return the list for one seed.

        The others are zero, come first among its parameters, and are not computed with.

        That is not the same as multiplying by zero, where a factor is infinite: a sum of two cotangents becomes the one
        that is not zero.
        """
        count = len(self.captures)
        seeds = dict(zip(self.sources, self.listed.params[count:], strict=True))
        seed = seeds.pop(source)
        reached = dependent(self.listed.ops, [seed])
        zeros = dependent(self.listed.ops, seeds.values()) - reached
        kept = {t: r for t, r in zip(self.targets, self.listed.results, strict=True) if r in reached}
        names: Renaming = {}
        ops = [rename(op, names) for op in self.listed.ops if not _is_sum_with(zeros, op, names)]
        results = tuple(renamed(r, names) for r in kept.values())
        params = (*self.listed.params[:count], *seeds.values(), seed)
        listed = replace(self.listed, params=params, ops=tuple(live_ops(ops, results)), results=results)
        return Linear(self.primal, listed, self.captures, (*seeds, source), tuple(kept))


def _is_sum_with(zeros: set[Var], op: Op, names: Renaming) -> bool:
    """Whether the op adds a zero; then rename its output to the other term."""
    terms = [v for v in op.inputs if v not in zeros]
    if op.kind != "Add" or len(terms) != 1 or terms[0] is None or not same_types(terms[0].type, op.outputs[0].type):
        return False
    names[op.outputs[0]] = renamed(terms[0], names)
    return True


def linear_lists(block: Block, mode: Mode, wanted: Mapping[int, Sequence[int]]) -> Iterator[Linear]:
    """Yield the linear lists of a block from each source to its wanted targets, in as few lists as needed.

    There is one for all sources if the block draws numbers or introduces sizes of data, so that it is run once, and
    else one for each: a list of few targets is shorter than the same part of a list of many.
    """
    whole = any(map(draws, block.ops)) or bool(own_symbols(block))
    for sources in [[*wanted]] if whole and wanted else [[s] for s in wanted]:
        targets = [*dict.fromkeys(t for s in sources for t in wanted[s])]
        if mode == "forward":
            pushed = push_whole(block, sources, targets)
            yield Linear(pushed.primal, pushed.tangent, pushed.captures, pushed.wrt, pushed.targets)
        else:
            split = split_whole(block, targets, sources)
            yield Linear(split.primal, split.pullback, split.captures, split.of, split.targets)
