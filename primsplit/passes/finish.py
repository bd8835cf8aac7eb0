"""What a block goes through before it becomes a file."""

import functools
from collections.abc import Callable, Sequence

from primsplit.ir import Block, Op
from primsplit.passes import gradients_last, optimize
from primsplit.passes.columns_of_numbers import number_columns
from primsplit.passes.conversions import convert_in_program
from primsplit.passes.copies import read_past_copies
from primsplit.passes.faults.axes import count_axes_from_front
from primsplit.passes.faults.captured_dequantized import copy_captured_dequantized
from primsplit.passes.faults.cast_stacks import keep_cast_stacks
from primsplit.passes.faults.circular_pads import guard_circular_pads
from primsplit.passes.faults.columns import write_vectors_as_columns
from primsplit.passes.faults.cosines import write_cosines
from primsplit.passes.faults.emptied_pads import guard_emptied_pads
from primsplit.passes.faults.empty_layers import guard_empty_layers
from primsplit.passes.faults.empty_products import zero_empty_products
from primsplit.passes.faults.empty_rows import guard_empty_rows
from primsplit.passes.faults.empty_scans import guard_empty_scans
from primsplit.passes.faults.empty_windows import guard_empty_windows
from primsplit.passes.faults.long_splits import slice_long_splits
from primsplit.passes.faults.neutral import keep_faint_constants
from primsplit.passes.faults.precision import keep_double_products
from primsplit.passes.faults.quotients import write_quotients
from primsplit.passes.faults.reversals import reverse_at_least_one
from primsplit.passes.faults.scan_axes import walk_first_axes
from primsplit.passes.faults.shared_places import update_in_turn
from primsplit.passes.faults.skipped_starts import cut_behind_windows
from primsplit.passes.faults.squares import write_squares
from primsplit.passes.faults.surplus_windows import cut_pools
from primsplit.passes.faults.unread_masks import read_masks
from primsplit.passes.faults.untaken_sides import fill_untaken_sides
from primsplit.passes.inline import inline_calls
from primsplit.passes.later import LATER, write_later
from primsplit.passes.legalize import legalize
from primsplit.passes.log_sums import join_logarithms
from primsplit.passes.loops.counted import scans_of_counted_loops
from primsplit.passes.loops.fission import split_up_scans
from primsplit.passes.loops.given_terms import given_terms_first
from primsplit.passes.loops.joined_ifs import join_ifs
from primsplit.passes.loops.shared_loops import share_loops
from primsplit.passes.loops.taken_along import take_along
from primsplit.passes.loops.tiles import work_in_tiles
from primsplit.passes.masks import choose_by_masks
from primsplit.passes.misfits import refuse_misfits
from primsplit.passes.order import results_apart
from primsplit.passes.products.addends import addends_in_products
from primsplit.passes.products.biases import biases_in_products
from primsplit.passes.products.factors import factors_behind_sums
from primsplit.passes.products.matrices import pulled_as_matrices
from primsplit.passes.products.narrow_products import swap_narrow_products
from primsplit.passes.products.operands_again import products_read_again
from primsplit.passes.products.stacks import join_stacks, keep_transposed_stacks
from primsplit.passes.products.sums import sums_of_derivatives
from primsplit.passes.products.transposed import gemm_of_transposed
from primsplit.passes.short_rows import lengthen_rows
from primsplit.passes.sums.long_sums import part_long_sums
from primsplit.passes.written.writes import join_writes
from primsplit.providers import Provider
from primsplit.verify import verified

Pass = Callable[[Block], Block]

GUARDS: tuple[Pass, ...] = (
    write_later, walk_first_axes, guard_empty_scans, guard_empty_layers, guard_empty_rows, guard_empty_windows,
    cut_pools, cut_behind_windows, guard_circular_pads, guard_emptied_pads,
)  # fmt: skip
"""What keeps onnxruntime's kernels from arrays that they refuse or misread, in this order."""

LAST_FORMS: tuple[Pass, ...] = (
    write_squares, write_cosines, write_quotients, copy_captured_dequantized, fill_untaken_sides, slice_long_splits,
)  # fmt: skip
"""What is spelt otherwise in the end, for what some onnxruntime makes of it as it stands; in this order."""


def finish(
    block: Block,
    gradients: Sequence[int] = (),
    *,
    is_function: bool = False,
    keep_calls: bool = False,
    provider: Provider = "cpu",
) -> Block:
    """The block in the standard's operators alone, without waste, for onnxruntime.

    It is optimized before and after operators without a kernel are replaced: what they are replaced by may be constant,
    or shared. What is written around onnxruntime's ways would look like waste, and comes last. `gradients` are the
    positions of results that are gradients of parameters, which are computed last. A function's block is inlined by
    onnxruntime between ops that are not known here. With `keep_calls`, calls that are to stay are left for the writer.
    """
    lean = _lean(block, gradients, keep_calls=keep_calls)
    guarded = _legal_and_guarded(lean, provider)
    products = _with_products(guarded, gradients, is_function=is_function)
    if provider == "cpu" and not is_function:
        products = choose_by_masks(work_in_tiles(join_logarithms(products)))
    products = join_ifs(read_past_copies(products))
    if provider == "cpu":
        products = update_in_turn(products)
    doubles = keep_double_products(read_masks(products), is_function=is_function)
    written = _each(LAST_FORMS, keep_faint_constants(keep_cast_stacks(doubles)))
    if provider == "cpu":
        written = lengthen_rows(number_columns(part_long_sums(written)))
    if not gradients:
        return verified(refuse_misfits(written))
    return verified(refuse_misfits(gradients_last(results_apart(written), range(len(written.results)))))


def _each(passes: Sequence[Pass], block: Block) -> Block:
    return functools.reduce(lambda done, step: step(done), passes, block)


def _lean(block: Block, gradients: Sequence[int], *, keep_calls: bool) -> Block:
    """The block without calls and waste, its loops in the forms that take the fewest operators a step."""

    def stays(op: Op) -> bool:
        return op.kind == LATER or (keep_calls and op.attributes.get("inline") is False)

    inlined = convert_in_program(inline_calls(block, keep=stays))
    whole = share_loops(optimize(join_writes(inlined)))
    counted = scans_of_counted_loops(whole)
    whole = whole if counted is whole else optimize(counted)
    along = take_along(whole)
    whole = whole if along is whole else optimize(along)
    if gradients:
        whole = given_terms_first(sums_of_derivatives(whole, gradients), gradients)
    parted = split_up_scans(whole)
    # What is taken out of a Scan may come as calls: a form for all steps at once can be a loop over them.
    return whole if parted is whole else optimize(inline_calls(parted, keep=stays))


def _legal_and_guarded(lean: Block, provider: Provider) -> Block:
    """The block in operators that have kernels, none of which is given what it refuses or misreads."""
    legal = reverse_at_least_one(legalize(lean, provider))
    if legal is not lean:
        legal = legalize(optimize(legal), provider)
    guarded = _each(GUARDS, legal)
    return guarded if guarded is legal else legalize(guarded, provider)


def _with_products(block: Block, gradients: Sequence[int], *, is_function: bool) -> Block:
    """The block with its products of matrices in the forms that take the least time, and are right."""
    columns = write_vectors_as_columns(count_axes_from_front(block), is_function=is_function)
    products = join_stacks(zero_empty_products(swap_narrow_products(gemm_of_transposed(columns))))
    products = biases_in_products(products)
    if not gradients:
        return products
    products = factors_behind_sums(products, gradients)
    again = products_read_again(keep_transposed_stacks(products), gradients)
    summed = sums_of_derivatives(pulled_as_matrices(again, gradients), gradients)
    return addends_in_products(summed, gradients)
