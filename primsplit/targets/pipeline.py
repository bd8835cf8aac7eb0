"""The pipeline: the stages between a recorded program and a file, in their order, as one table.

`finish` runs them; `primsplit rules --pipeline` prints them. A stage is a pass with the reason for it. Each stage
returns the block itself if it has nothing to do.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from primsplit.ir import Block, Op
from primsplit.ir.providers import Provider
from primsplit.ir.runtimes import OLDEST, Fault, Runtime, cured_by
from primsplit.rewrites import gradients_last, optimize
from primsplit.rewrites.columns_of_numbers import number_columns
from primsplit.rewrites.conversions import convert_in_program
from primsplit.rewrites.copies import read_past_copies
from primsplit.rewrites.inline import inline_calls
from primsplit.rewrites.log_sums import join_logarithms
from primsplit.rewrites.loops.counted import scans_of_counted_loops
from primsplit.rewrites.loops.joined_ifs import join_ifs
from primsplit.rewrites.loops.shared_loops import share_loops
from primsplit.rewrites.loops.tiles import work_in_tiles
from primsplit.rewrites.misfits import refuse_misfits
from primsplit.rewrites.order import results_apart
from primsplit.rewrites.products.addends import addends_in_products
from primsplit.rewrites.products.biases import biases_in_products
from primsplit.rewrites.products.factors import factors_behind_sums
from primsplit.rewrites.products.matrices import pulled_as_matrices
from primsplit.rewrites.products.narrow_products import swap_narrow_products
from primsplit.rewrites.products.operands_again import products_read_again
from primsplit.rewrites.products.stacks import join_stacks, keep_transposed_stacks
from primsplit.rewrites.products.sums import sums_of_derivatives
from primsplit.rewrites.products.transposed import gemm_of_transposed
from primsplit.rewrites.rematerialize import LATER, write_later
from primsplit.rewrites.select_to_mask import choose_by_masks
from primsplit.rewrites.short_rows import lengthen_rows
from primsplit.rewrites.sums.long_sums import part_long_sums
from primsplit.rewrites.untaken_sides import fill_untaken_sides
from primsplit.targets.faults.axes import count_axes_from_front
from primsplit.targets.faults.captured_dequantized import copy_captured_dequantized
from primsplit.targets.faults.cast_stacks import keep_cast_stacks
from primsplit.targets.faults.circular_pads import guard_circular_pads
from primsplit.targets.faults.columns import write_vectors_as_columns
from primsplit.targets.faults.cosines import write_cosines
from primsplit.targets.faults.emptied_pads import guard_emptied_pads
from primsplit.targets.faults.empty_layers import guard_empty_layers
from primsplit.targets.faults.empty_products import zero_empty_products
from primsplit.targets.faults.empty_rows import guard_empty_rows
from primsplit.targets.faults.empty_scans import guard_empty_scans
from primsplit.targets.faults.empty_windows import guard_empty_windows
from primsplit.targets.faults.long_splits import slice_long_splits
from primsplit.targets.faults.neutral import keep_faint_constants
from primsplit.targets.faults.precision import keep_double_products
from primsplit.targets.faults.quotients import write_quotients
from primsplit.targets.faults.reversals import reverse_at_least_one
from primsplit.targets.faults.scan_axes import walk_first_axes
from primsplit.targets.faults.shared_places import update_in_turn
from primsplit.targets.faults.skipped_starts import cut_behind_windows
from primsplit.targets.faults.squares import write_squares
from primsplit.targets.faults.surplus_windows import cut_pools
from primsplit.targets.faults.unread_masks import read_masks
from primsplit.targets.legalize import legalize
from primsplit.transforms.idioms.writes import join_writes
from primsplit.transforms.vectorized_loops.fission import split_up_scans
from primsplit.transforms.vectorized_loops.given_terms import given_terms_first
from primsplit.transforms.vectorized_loops.taken_along import take_along

Purpose = Literal["form", "speed", "fault", "digits"]
"""The purpose of a stage: a file cannot hold the program otherwise.

It runs faster; a runtime would compute it wrongly, or lose digits.
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
    left out. `kinds` are operators: a block with none of them is not walked. `bench` is the row of `tools/bench` that
    shows what a stage gains. `parts` are stages that it runs itself.
    """

    name: str
    run: Run
    why: str
    purpose: Purpose
    rounds: bool = False
    needs: frozenset[Need] = field(default_factory=frozenset)
    then: Run | None = None
    faults: tuple[Fault, ...] = ()
    kinds: frozenset[str] | None = None
    bench: str = ""
    parts: tuple["Stage", ...] = ()

    def apply(self, block: Block, target: Target) -> Block:
        """Return the block after the stage; itself if the stage is not for this target, or has nothing to do in it."""
        if not target.meets(self.needs) or (self.kinds is not None and self.kinds.isdisjoint(block.kinds)):
            return block
        if self.faults and not any(target.runtime.has(fault.name) for fault in self.faults):
            return block
        found = self.run(block, target)
        return found if found is block or self.then is None else self.then(found, target)


def _plain(run: Callable[[Block], Block], purpose: Purpose, why: str, *needs: Need, rounds: bool = False) -> Stage:
    """Return a stage that does not depend on the target."""
    return Stage(run.__name__, lambda block, _: run(block), why, purpose, rounds, frozenset(needs))


def _around(run: Callable[[Block], Block], why: str, *needs: Need, rounds: bool = False) -> Stage:
    """Return a stage that works around faults of a runtime."""
    return replace(_plain(run, "fault", why, *needs, rounds=rounds), faults=cured_by(run))


def _around_some(run: Callable[[Block, Runtime], Block], why: str, *, rounds: bool = False) -> Stage:
    """Return a stage that works around several faults, of which a runtime may have some."""
    name, faults = run.__name__, cured_by(run)
    return Stage(name, lambda block, target: run(block, target.runtime), why, "fault", rounds, faults=faults)


def _of_gradients(
    run: Callable[[Block, Sequence[int]], Block], purpose: Purpose, why: str, *, rounds: bool = False
) -> Stage:
    """Return a stage that changes only ops that gradients need: a function's values are never rounded differently."""
    needs: frozenset[Need] = frozenset({"gradients"})
    return Stage(run.__name__, lambda block, target: run(block, target.gradients), why, purpose, rounds, needs)


def _tidied(run: Callable[[Block], Block], purpose: Purpose, why: str) -> Stage:
    """Return a stage after which the block is optimized again."""
    return Stage(run.__name__, lambda block, _: run(block), why, purpose, then=lambda block, _: optimize(block))


def _optimized_without_calls(block: Block, target: Target) -> Block:
    return optimize(inline_calls(block, keep=target.stays))


def _legal(block: Block, target: Target) -> Block:
    return legalize(block, target.provider, target.runtime)


def _in_order(block: Block, _: Target) -> Block:
    return gradients_last(results_apart(block), range(len(block.results)))


def in_turn(stages: Iterable[Stage], block: Block, target: Target) -> Block:
    """Return the block after these stages."""
    for stage in stages:
        block = stage.apply(block, target)
    return block


LEGAL: tuple[Stage, ...] = (_around(reverse_at_least_one, "Raise lengths of 0 that ReverseSequence reads to 1."),)
"""What belongs to the replacement of operators without a kernel."""

GUARDS: tuple[Stage, ...] = (
    _plain(write_later, "form", "Write values that a pullback recomputes in standard operators."),
    _around(walk_first_axes, "Scan arrays that may be empty along their first axis."),
    _around(guard_empty_scans, "Put Scans and Loops that may have no steps in an If."),
    _around_some(guard_empty_layers, "Put recurrent layers and Einsums of arrays that may be empty in an If."),
    _around_some(guard_empty_rows, "Put TopK, OneHot and LpNormalization of arrays that may be empty in an If."),
    _around_some(guard_empty_windows, "Put convolutions of arrays that may be empty in an If."),
    _around_some(cut_pools, "Cut off the windows of pools that the standard does not have."),
    _around(cut_behind_windows, "Cut arrays behind the last window of pools with SAME padding."),
    _around_some(guard_circular_pads, "Put circular Pads that may go around twice in an If."),
    _around(guard_emptied_pads, "Put Pads that may remove all of an axis in an If."),
)
"""Stages that keep arrays away from kernels that refuse or misread them."""

STAGES: tuple[Stage, ...] = (
    Stage(
        "inline_calls",
        lambda block, target: inline_calls(block, keep=target.stays),
        "Replace calls of traced functions by their ops.",
        "form",
    ),
    _plain(convert_in_program, "form", "Convert in the file the arrays that tracing converted."),
    _plain(join_writes, "speed", "Merge writes to elements, as of a Python loop, into one."),
    _plain(optimize, "speed", "Fold constants, simplify, merge common subexpressions, drop dead code."),
    _plain(share_loops, "speed", "Merge loops that run the same steps."),
    _tidied(scans_of_counted_loops, "speed", "Write Loops of a known number of steps as Scans."),
    _tidied(take_along, "speed", "Fuse a Scan over the stacked results of another loop with that loop."),
    _of_gradients(sums_of_derivatives, "speed", "Sum along axes once where derivatives add up.", rounds=True),
    _of_gradients(given_terms_first, "speed", "Add up a step's elements before the carries.", rounds=True),
    Stage(
        "split_up_scans",
        lambda block, _: split_up_scans(block),
        "Compute for all steps at once what needs no earlier step.",
        "speed",
        rounds=True,
        # What is taken out of a Scan may come as calls: a form for all steps at once can be a loop over them.
        then=_optimized_without_calls,
    ),
    Stage(
        "legalize",
        lambda block, target: in_turn(LEGAL, _legal(block, target), target),
        "Replace operators without a kernel by decompositions.",
        "form",
        rounds=True,
        then=lambda block, target: _legal(optimize(block), target),
        parts=LEGAL,
    ),
    Stage(
        "guards",
        lambda block, target: in_turn(GUARDS, block, target),
        "Keep arrays from kernels that refuse or misread them: see GUARDS.",
        "fault",
        then=_legal,
        parts=GUARDS,
    ),
    _around(count_axes_from_front, "Count the axes of reductions from the front."),
    Stage(
        "write_vectors_as_columns",
        lambda block, target: write_vectors_as_columns(block, target.runtime, is_function=target.is_function),
        "Write vectors in products as matrices of one column.",
        "fault",
        rounds=True,
        faults=cured_by(write_vectors_as_columns),
    ),
    _plain(gemm_of_transposed, "speed", "Read transposed matrices as they lie, by Gemm.", rounds=True),
    _plain(swap_narrow_products, "speed", "Read a large matrix as it lies in products of few rows.", rounds=True),
    _around(zero_empty_products, "Write zeros for products over an axis that may be empty."),
    _plain(join_stacks, "speed", "Stack arrays, and take stacks apart, without copies."),
    _plain(biases_in_products, "speed", "Fuse a bias with its matrix product.", rounds=True),
    _of_gradients(factors_behind_sums, "speed", "Move a factor behind a sum.", rounds=True),
    _plain(keep_transposed_stacks, "speed", "Take transposed stacks apart as matrices.", "gradients"),
    _of_gradients(products_read_again, "speed", "Recompute the operand of a product rather than keep it."),
    _of_gradients(pulled_as_matrices, "speed", "Compute elementwise ops of a pullback on matrices."),
    _of_gradients(sums_of_derivatives, "speed", "Sum along axes once where derivatives add up.", rounds=True),
    _of_gradients(addends_in_products, "speed", "Fuse an addend with its matrix product in derivatives.", rounds=True),
    _plain(join_logarithms, "speed", "Take fewer logarithms in sums of log1p.", "cpu", "program", rounds=True),
    _plain(work_in_tiles, "speed", "Compute on the rows that fit in the cache.", "cpu", "program", rounds=True),
    _plain(choose_by_masks, "speed", "Write choices between numbers and zeros as products.", "cpu", "program"),
    _plain(read_past_copies, "speed", "Read past copies."),
    _plain(join_ifs, "speed", "Merge the guards of loops in a loop's step."),
    _around(update_in_turn, "Update repeated places one after another.", "cpu", rounds=True),
    _around(read_masks, "Read the mask of a Dropout that trains."),
    Stage(
        "keep_double_products",
        lambda block, target: keep_double_products(block, target.runtime, is_function=target.is_function),
        "Keep float64 products from being fused.",
        "fault",
        rounds=True,
        faults=cured_by(keep_double_products),
    ),
    _around(keep_cast_stacks, "Keep a Transpose out of products of cast stacks."),
    _around_some(keep_faint_constants, "Keep constants that look like 0 or 1.", rounds=True),
    _around(write_squares, "Write float64 squares as products.", rounds=True),
    _around(write_cosines, "Write the float64 cosine by sines.", rounds=True),
    _around(write_quotients, "Write products with a reciprocal as quotients.", rounds=True),
    _around(copy_captured_dequantized, "Copy dequantized values that a body reads."),
    _around(fill_untaken_sides, "Fill empty results of branches that are never taken."),
    _around(slice_long_splits, "Write Splits of axes beyond 32 bits as Slices."),
    _plain(part_long_sums, "digits", "Sum many numbers of 32 bits in two stages.", "cpu", rounds=True),
    _plain(number_columns, "speed", "Reshape scalars beside columns to their rank.", "cpu"),
    _plain(lengthen_rows, "speed", "Combine short rows with columns at full length.", "cpu"),
    Stage("gradients_last", _in_order, "Compute gradients last.", "speed", needs=frozenset({"gradients"})),
    _plain(refuse_misfits, "fault", "Refuse ops that do not fit the integers that they read."),
)
"""All stages, in their order."""


def rows() -> list[dict[str, Any]]:
    """Return the stages as a table, the parts of a stage after it."""
    found = []
    for stage in STAGES:
        found.append(stage)
        found += stage.parts
    return [
        {"stage": s.name, "for": s.purpose, "rounds": s.rounds, "only": " ".join(sorted(s.needs)), "why": s.why}
        for s in found
    ]
