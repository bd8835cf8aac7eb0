"""The pipeline: the stages between a recorded program and a file, in their order, as one table.

`finish` runs them; `primsplit rules --pipeline` prints them. A stage is a pass with the reason for it. Each stage
returns the block itself if it has nothing to do.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from primsplit.ir import Block, is_call, walk
from primsplit.ir.passes import (
    array_of,
    dtype_among,
    groups,
    has_column,
    has_converted,
    has_open_size,
    imported,
    may_be_empty,
    one_of,
    ops_from,
    reads_vector,
)
from primsplit.rewrites import gradients_last, optimize
from primsplit.rewrites.loops import LARGE
from primsplit.rewrites.order import results_apart
from primsplit.targets.legalize import WRITTEN_OUT, legalize, written_ops
from primsplit.targets.stages import (
    OWN,
    Stage,
    Target,
    around,
    around_in_functions,
    around_some,
    in_turn,
    of_calls,
    of_gradients,
    plain,
    tidied,
)

inline_calls = imported("rewrites.inline.inline_calls")
join_calls = imported("transforms.joined_calls.join_calls")
split_up_scans = imported("transforms.vectorized_loops.fission.split_up_scans")
solve_linear_scans = imported("transforms.vectorized_loops.linear_scans.solve_linear_scans")


def _joined(block: Block, target: Target) -> Block:
    weigh = partial(written_ops, provider=target.provider, runtime=target.runtime)
    # Most programs have none, and load no module for it: the kinds of the stage do not say their dtypes.
    may_join = any(is_call(op) or weigh(op) > 1 for op in walk(block))
    return join_calls(block, target.stays, weigh) if may_join else block


def _optimized_without_calls(block: Block, target: Target) -> Block:
    return optimize(inline_calls(block, target.stays))


def _legal(block: Block, target: Target) -> Block:
    return legalize(block, target.provider, target.runtime)


def _in_order(block: Block, _: Target) -> Block:
    return gradients_last(results_apart(block), range(len(block.results)))


LEGAL: tuple[Stage, ...] = (
    around(
        "targets.faults.reversals.reverse_at_least_one",
        "Raise lengths of 0 that ReverseSequence reads to 1.",
        kinds="ReverseSequence",
    ),
)
"""The stages that belong to the replacement of operators without a kernel."""

GUARDS: tuple[Stage, ...] = (
    plain(
        "rewrites.rematerialize.write_later",
        "form",
        "Write values that a pullback recomputes in standard operators.",
        kinds="call::later",
    ),
    around(
        "targets.faults.scan_axes.walk_first_axes",
        "Scan arrays that may be empty along their first axis.",
        kinds="Scan",
    ),
    around(
        "targets.faults.empty_scans.guard_empty_scans",
        "Put Scans and Loops that may have no steps in an If.",
        kinds="Scan|Loop",
    ),
    around_some(
        "targets.faults.empty_layers.guard_empty_layers",
        "Put recurrent layers and Einsums of arrays that may be empty in an If.",
        kinds="Einsum|GRU|LSTM|ReduceSum|RNN",
    ),
    around_some(
        "targets.faults.empty_rows.guard_empty_rows",
        "Put TopK, OneHot and LpNormalization of arrays that may be empty in an If.",
        kinds="LpNormalization|OneHot|TopK",
    ),
    around_some(
        "targets.faults.empty_windows.guard_empty_windows",
        "Put convolutions of arrays that may be empty in an If.",
        kinds="Conv|ConvTranspose",
    ),
    around_some(
        "targets.faults.surplus_windows.cut_pools",
        "Cut off the windows of pools that the standard does not have.",
        kinds="AveragePool|LpPool|MaxPool",
    ),
    around(
        "targets.faults.skipped_starts.cut_behind_windows",
        "Cut arrays behind the last window of pools with SAME padding.",
        kinds="AveragePool|LpPool|MaxPool",
    ),
    around_some(
        "targets.faults.circular_pads.guard_circular_pads",
        "Put circular Pads that may go around twice in an If.",
        kinds="Pad",
    ),
    around(
        "targets.faults.emptied_pads.guard_emptied_pads",
        "Put Pads that may remove all of an axis in an If.",
        kinds="Pad",
    ),
)
"""Stages that keep arrays away from kernels that refuse or misread them."""

STAGES: tuple[Stage, ...] = (
    Stage(
        "join_calls",
        _joined,
        "Call a function once on rows where a Python loop calls it on each number.",
        "speed",
        rounds=True,
        kinds=groups("|".join(["call::*", *sorted(WRITTEN_OUT)])),
        bench="idioms scalar gammaln",
    ),
    of_calls("rewrites.inline.inline_calls", "form", "Replace calls of traced functions by their ops."),
    plain(
        "rewrites.conversions.convert_in_program",
        "form",
        "Convert in the file the arrays that tracing converted.",
        has=has_converted,
    ),
    plain(
        "transforms.idioms.writes.join_writes",
        "speed",
        "Merge writes to elements, as of a Python loop, into one.",
        kinds="ScatterND",
        bench="idioms stores",
    ),
    plain(
        "rewrites.loops.repeats.fold_repeats",
        "speed",
        "Write equal steps of a large program as a Scan.",
        "cpu",
        "values",
        "program",
        has=ops_from(LARGE),
        bench="loading 5,000 operators, value",
    ),
    plain(
        "rewrites.optimize",
        "speed",
        "Fold constants, simplify, merge common subexpressions, drop dead code.",
        bench="densities gauss",
    ),
    plain(
        "rewrites.loops.shared_loops.share_loops",
        "speed",
        "Merge loops that run the same steps.",
        kinds="Scan|Loop",
        bench="products predator_prey",
    ),
    tidied(
        "rewrites.loops.counted.scans_of_counted_loops",
        "Write Loops of a known number of steps as Scans.",
        kinds="Loop",
        bench="recurrences counted loop",
    ),
    of_gradients(
        "rewrites.products.sums.sums_of_derivatives",
        "Sum along axes once where derivatives add up.",
        kinds="Add|ReduceSum",
        bench="models inverse_kinematics",
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
    around(
        "targets.faults.axes.count_axes_from_front",
        "Count the axes of reductions from the front.",
        kinds="ArgMax|ArgMin|Reduce*",
    ),
    around_in_functions(
        "targets.faults.columns.write_vectors_as_columns",
        "Write vectors in products as matrices of one column.",
        kinds="MatMul",
        has=reads_vector("MatMul"),
    ),
    plain(
        "rewrites.products.transposed.gemm_of_transposed",
        "speed",
        "Read transposed matrices as they lie, by Gemm.",
        kinds="MatMul Transpose",
        bench="fixed mlp",
        rounds=True,
    ),
    plain(
        "rewrites.products.narrow_products.swap_narrow_products",
        "speed",
        "Read a large matrix as it lies in products of few rows.",
        kinds="MatMul|Gemm",
        has=array_of(2**11),
        bench="loops lstm",
        rounds=True,
    ),
    around(
        "targets.faults.empty_products.zero_empty_products",
        "Write zeros for products over an axis that may be empty.",
        kinds="MatMul",
        has=may_be_empty,
    ),
    plain(
        "rewrites.products.stacks.join_stacks",
        "speed",
        "Stack arrays without copies.",
        kinds="Concat",
        bench="models inverse_kinematics",
    ),
    of_gradients(
        "rewrites.products.factors.factors_behind_sums",
        "Move a factor behind a sum.",
        bench="fixed regression32",
        rounds=True,
    ),
    plain(
        "rewrites.products.stacks.keep_transposed_stacks",
        "speed",
        "Take transposed stacks apart as matrices: 7 % less memory.",
        "gradients",
        kinds="Transpose",
        bench="fixed transformer",
    ),
    of_gradients(
        "rewrites.products.operands_again.products_read_again",
        "Recompute the operand of a product rather than keep it.",
        kinds="MatMul|Gemm|Conv",
        has=array_of(2**16),
        bench="fixed transformer",
    ),
    of_gradients(
        "rewrites.products.matrices.pulled_as_matrices",
        "Compute elementwise ops of a pullback on matrices.",
        has=array_of(2**16),
        bench="linear_algebra inv of 4 x 4",
    ),
    of_gradients(
        "rewrites.products.sums.sums_of_derivatives",
        "Sum along axes once where derivatives add up.",
        kinds="Add|ReduceSum",
        bench="models inverse_kinematics",
        rounds=True,
    ),
    of_gradients(
        "rewrites.products.addends.addends_in_products",
        "Fuse an addend with its matrix product in derivatives.",
        kinds="Add MatMul|Gemm",
        bench="recurrences lfilter 2",
        rounds=True,
    ),
    plain(
        "rewrites.log_sums.join_logarithms",
        "speed",
        "Take fewer logarithms in sums of log1p.",
        "cpu",
        "program",
        kinds="Log ReduceSum|ReduceMean",
        bench="fixed regression64",
        rounds=True,
    ),
    plain(
        "rewrites.loops.tiles.work_in_tiles",
        "speed",
        "Compute on the rows that fit in the cache.",
        "cpu",
        "program",
        has=array_of(2**20),
        bench="densities gauss",
        rounds=True,
    ),
    plain(
        "rewrites.select_to_mask.choose_by_masks",
        "speed",
        "Write choices between numbers and zeros as products.",
        "cpu",
        "program",
        kinds="Where",
        bench="densities huber",
    ),
    around("rewrites.copies.read_past_copies", "Read past copies.", kinds="Identity"),
    plain(
        "rewrites.sums.scattered.add_in_float64",
        "digits",
        "Add to few places in float64.",
        "cpu",
        kinds="ScatterElements|ScatterND",
        rounds=True,
    ),
    around(
        "targets.faults.shared_places.update_in_turn",
        "Update repeated places one after another.",
        "cpu",
        kinds="ScatterND",
        rounds=True,
    ),
    around("targets.faults.unread_masks.read_masks", "Read the mask of a Dropout that trains.", kinds="Dropout"),
    around_in_functions(
        "targets.faults.precision.keep_double_products",
        "Keep float64 products from being fused.",
        kinds="MatMul",
        has=dtype_among("float64"),
    ),
    around(
        "targets.faults.cast_stacks.keep_cast_stacks",
        "Keep a Transpose out of products of cast stacks.",
        kinds="MatMul Transpose",
    ),
    around_some(
        "targets.faults.neutral.keep_faint_constants",
        "Keep constants that look like 0 or 1.",
        kinds="Add|Div|Mul|Sub",
        rounds=True,
    ),
    around("targets.faults.squares.write_squares", "Write float64 squares as products.", kinds="Pow", rounds=True),
    around("targets.faults.cosines.write_cosines", "Write the float64 cosine by sines.", kinds="Cos", rounds=True),
    around(
        "targets.faults.quotients.write_quotients",
        "Write products with a reciprocal as quotients.",
        kinds="Div Mul",
        rounds=True,
    ),
    around(
        "targets.faults.captured_dequantized.copy_captured_dequantized",
        "Copy dequantized values that a body reads.",
        kinds="DequantizeLinear",
    ),
    around("targets.faults.expansions.keep_expansions", "Keep Expands to constant sizes of 0.", kinds="Expand"),
    around(
        "rewrites.untaken_sides.fill_untaken_sides", "Fill empty results of branches that are never taken.", kinds="If"
    ),
    around(
        "targets.faults.long_splits.slice_long_splits", "Write Splits of axes beyond 32 bits as Slices.", kinds="Split"
    ),
    plain(
        "rewrites.sums.long_sums.part_long_sums",
        "digits",
        "Sum many numbers of 32 bits in two stages.",
        "cpu",
        has=dtype_among("bfloat16", "float16", "float32"),
        rounds=True,
    ),
    plain(
        "rewrites.columns_of_numbers.number_columns",
        "speed",
        "Reshape scalars beside columns to their rank.",
        "cpu",
        has=has_column,
        bench="densities mixture",
    ),
    plain(
        "rewrites.short_rows.lengthen_rows",
        "speed",
        "Combine short rows with columns at full length.",
        "cpu",
        has=array_of(2**13),
        bench="densities springs",
    ),
    Stage(
        "gradients_last",
        _in_order,
        "Compute gradients last.",
        "speed",
        needs=frozenset({"gradients"}),
        bench="fixed mlp",
    ),
    plain(
        "rewrites.misfits.refuse_misfits",
        "fault",
        "Refuse ops that do not fit the integers that they read.",
        has=one_of("Div|Mod|Squeeze") | has_open_size,
    ),
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
            "has": "" if s.has is None else s.has.says,
            "kinds": " ".join("|".join(sorted(group)) for group in s.kinds),
            "faults": [fault.name for fault in s.faults],
            "bench": s.bench,
            "why": s.why,
        }
        for s in found
    ]
