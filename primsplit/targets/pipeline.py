"""The pipeline: the stages between a recorded program and a file, in their order, as one table.

`finish` runs them; `primsplit rules --pipeline` prints them. A stage is a pass with the reason for it. Each stage
returns the block itself if it has nothing to do.
"""

from collections.abc import Sequence
from typing import Any

from primsplit.ir import Block
from primsplit.ir.runtimes import cured_by
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
from primsplit.rewrites.rematerialize import write_later
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
from primsplit.targets.stages import (
    OWN,
    Stage,
    Target,
    around,
    around_some,
    groups,
    in_turn,
    of_gradients,
    plain,
    tidied,
)
from primsplit.transforms.idioms.writes import join_writes
from primsplit.transforms.joined_calls import join_calls
from primsplit.transforms.vectorized_loops.fission import split_up_scans
from primsplit.transforms.vectorized_loops.given_terms import given_terms_first
from primsplit.transforms.vectorized_loops.linear_scans import solve_linear_scans
from primsplit.transforms.vectorized_loops.taken_along import take_along


def _optimized_without_calls(block: Block, target: Target) -> Block:
    return optimize(inline_calls(block, keep=target.stays))


def _legal(block: Block, target: Target) -> Block:
    return legalize(block, target.provider, target.runtime)


def _in_order(block: Block, _: Target) -> Block:
    return gradients_last(results_apart(block), range(len(block.results)))


LEGAL: tuple[Stage, ...] = (around(reverse_at_least_one, "Raise lengths of 0 that ReverseSequence reads to 1."),)
"""The stages that belong to the replacement of operators without a kernel."""

GUARDS: tuple[Stage, ...] = (
    plain(write_later, "form", "Write values that a pullback recomputes in standard operators."),
    around(walk_first_axes, "Scan arrays that may be empty along their first axis."),
    around(guard_empty_scans, "Put Scans and Loops that may have no steps in an If."),
    around_some(guard_empty_layers, "Put recurrent layers and Einsums of arrays that may be empty in an If."),
    around_some(guard_empty_rows, "Put TopK, OneHot and LpNormalization of arrays that may be empty in an If."),
    around_some(guard_empty_windows, "Put convolutions of arrays that may be empty in an If."),
    around_some(cut_pools, "Cut off the windows of pools that the standard does not have."),
    around(cut_behind_windows, "Cut arrays behind the last window of pools with SAME padding."),
    around_some(guard_circular_pads, "Put circular Pads that may go around twice in an If."),
    around(guard_emptied_pads, "Put Pads that may remove all of an axis in an If."),
)
"""Stages that keep arrays away from kernels that refuse or misread them."""

STAGES: tuple[Stage, ...] = (
    Stage(
        "join_calls",
        lambda block, target: join_calls(block, target.stays),
        "Call a function once on rows where a Python loop calls it on each number.",
        "speed",
        rounds=True,
        bench="idioms scalar gammaln",
    ),
    Stage(
        "inline_calls",
        lambda block, target: inline_calls(block, keep=target.stays),
        "Replace calls of traced functions by their ops.",
        "form",
    ),
    plain(convert_in_program, "form", "Convert in the file the arrays that tracing converted."),
    plain(
        join_writes,
        "speed",
        "Merge writes to elements, as of a Python loop, into one.",
        kinds="ScatterND",
        bench="idioms stores",
    ),
    plain(
        optimize,
        "speed",
        "Fold constants, simplify, merge common subexpressions, drop dead code.",
        bench="densities gauss",
    ),
    plain(
        share_loops, "speed", "Merge loops that run the same steps.", kinds="Scan|Loop", bench="products predator_prey"
    ),
    tidied(
        scans_of_counted_loops,
        "Write Loops of a known number of steps as Scans.",
        kinds="Loop",
        bench="recurrences counted loop",
    ),
    tidied(
        take_along,
        "Fuse a Scan over the stacked results of another loop with that loop.",
        kinds="Scan|Loop",
        bench="products predator_prey",
    ),
    of_gradients(
        sums_of_derivatives,
        "Sum along axes once where derivatives add up.",
        kinds="Add|ReduceSum",
        bench="models inverse_kinematics",
        rounds=True,
    ),
    of_gradients(
        given_terms_first,
        "Add up a step's elements before the carries.",
        kinds="Scan",
        bench="products predator_prey",
        rounds=True,
    ),
    Stage(
        "split_up_scans",
        lambda block, _: split_up_scans(block),
        "Compute for all steps at once what needs no earlier step.",
        "speed",
        rounds=True,
        kinds=groups("Scan"),
        bench="loops lstm",
        # What is taken out of a Scan may come as calls: a form for all steps at once can be a loop over them.
        then=_optimized_without_calls,
    ),
    Stage(
        "solve_linear_scans",
        lambda block, _: solve_linear_scans(block),
        "Solve Scans that are linear in a few small carries for all steps at once.",
        "speed",
        rounds=True,
        kinds=groups("Scan"),
        bench="models optimal_control",
        then=lambda block, _: optimize(block),
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
    around(count_axes_from_front, "Count the axes of reductions from the front."),
    Stage(
        "write_vectors_as_columns",
        lambda block, target: write_vectors_as_columns(block, target.runtime, is_function=target.is_function),
        "Write vectors in products as matrices of one column.",
        "fault",
        rounds=True,
        faults=cured_by(write_vectors_as_columns),
    ),
    plain(
        gemm_of_transposed,
        "speed",
        "Read transposed matrices as they lie, by Gemm.",
        kinds="MatMul Transpose",
        bench="fixed mlp",
        rounds=True,
    ),
    plain(
        swap_narrow_products,
        "speed",
        "Read a large matrix as it lies in products of few rows.",
        kinds="MatMul|Gemm",
        bench="loops lstm",
        rounds=True,
    ),
    around(zero_empty_products, "Write zeros for products over an axis that may be empty."),
    plain(
        join_stacks,
        "speed",
        "Stack arrays, and take stacks apart, without copies.",
        kinds="Concat",
        bench="fixed transformer",
    ),
    plain(
        biases_in_products,
        "speed",
        "Fuse a bias with its matrix product.",
        kinds="Add MatMul|Gemm",
        bench="loops lstm",
        rounds=True,
    ),
    of_gradients(factors_behind_sums, "Move a factor behind a sum.", bench="fixed regression32", rounds=True),
    plain(
        keep_transposed_stacks,
        "speed",
        "Take transposed stacks apart as matrices.",
        "gradients",
        kinds="Transpose",
        bench="fixed transformer",
    ),
    of_gradients(
        products_read_again,
        "Recompute the operand of a product rather than keep it.",
        kinds="MatMul|Gemm|Conv",
        bench="fixed transformer",
    ),
    of_gradients(pulled_as_matrices, "Compute elementwise ops of a pullback on matrices.", bench="fixed transformer"),
    of_gradients(
        sums_of_derivatives,
        "Sum along axes once where derivatives add up.",
        kinds="Add|ReduceSum",
        bench="models inverse_kinematics",
        rounds=True,
    ),
    of_gradients(
        addends_in_products,
        "Fuse an addend with its matrix product in derivatives.",
        kinds="Add MatMul|Gemm",
        bench="models damped_building",
        rounds=True,
    ),
    plain(
        join_logarithms,
        "speed",
        "Take fewer logarithms in sums of log1p.",
        "cpu",
        "program",
        kinds="Log ReduceSum|ReduceMean",
        bench="fixed regression64",
        rounds=True,
    ),
    plain(
        work_in_tiles,
        "speed",
        "Compute on the rows that fit in the cache.",
        "cpu",
        "program",
        bench="densities gauss",
        rounds=True,
    ),
    plain(
        choose_by_masks,
        "speed",
        "Write choices between numbers and zeros as products.",
        "cpu",
        "program",
        kinds="Where",
        bench="densities huber",
    ),
    plain(read_past_copies, "speed", "Read past copies.", kinds="Identity", bench="densities gauss"),
    plain(
        join_ifs,
        "speed",
        "Merge the guards of loops in a loop's step.",
        kinds="If Scan|Loop",
        bench="models predator_prey",
    ),
    around(update_in_turn, "Update repeated places one after another.", "cpu", rounds=True),
    around(read_masks, "Read the mask of a Dropout that trains."),
    Stage(
        "keep_double_products",
        lambda block, target: keep_double_products(block, target.runtime, is_function=target.is_function),
        "Keep float64 products from being fused.",
        "fault",
        rounds=True,
        faults=cured_by(keep_double_products),
    ),
    around(keep_cast_stacks, "Keep a Transpose out of products of cast stacks."),
    around_some(keep_faint_constants, "Keep constants that look like 0 or 1.", rounds=True),
    around(write_squares, "Write float64 squares as products.", rounds=True),
    around(write_cosines, "Write the float64 cosine by sines.", rounds=True),
    around(write_quotients, "Write products with a reciprocal as quotients.", rounds=True),
    around(copy_captured_dequantized, "Copy dequantized values that a body reads."),
    around(fill_untaken_sides, "Fill empty results of branches that are never taken."),
    around(slice_long_splits, "Write Splits of axes beyond 32 bits as Slices."),
    plain(part_long_sums, "digits", "Sum many numbers of 32 bits in two stages.", "cpu", rounds=True),
    plain(number_columns, "speed", "Reshape scalars beside columns to their rank.", "cpu", bench="densities mixture"),
    plain(lengthen_rows, "speed", "Combine short rows with columns at full length.", "cpu", bench="densities springs"),
    Stage(
        "gradients_last",
        _in_order,
        "Compute gradients last.",
        "speed",
        needs=frozenset({"gradients"}),
        bench="fixed mlp",
    ),
    plain(refuse_misfits, "fault", "Refuse ops that do not fit the integers that they read."),
)
"""The package's stages, in their order. No trait: which operators a stage looks for."""


def stages() -> Sequence[Stage]:
    """Return all stages in their order, with those that users registered."""
    found = list(STAGES)
    for own in OWN.values():
        names = [stage.name for stage in found]
        found.insert(names.index(own.before) if own.before else len(found), own.stage)
    return found


def rows() -> list[dict[str, Any]]:
    """The stages as a table, the parts of a stage behind it."""
    found = []
    for stage in stages():
        found.append(stage)
        found += stage.parts
    return [
        {
            "stage": s.name,
            "for": s.purpose,
            "rounds": s.rounds,
            "only": " ".join(sorted(s.needs)),
            "kinds": " ".join("|".join(sorted(group)) for group in s.kinds),
            "faults": [fault.name for fault in s.faults],
            "bench": s.bench,
            "why": s.why,
        }
        for s in found
    ]
