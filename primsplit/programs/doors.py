"""Import the modules that read and write files and run onnxruntime, on first use, in this one place.

Importing onnx_ir and onnxruntime takes several times as long as the rest of primsplit together.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from primsplit.ir import Block, Const, Loaded, walk
from primsplit.ir.carriers import CARRIERS
from primsplit.ir.errors import FileError, SpecError
from primsplit.ir.names import NamedBlock
from primsplit.ir.passes import dtype_among, one_of
from primsplit.programs.restarts import report_restarting_draws
from primsplit.rewrites.cse import merge_repeated
from primsplit.tracing.hooks import HOOKS
from primsplit.tracing.own_errors import own_errors

has_jumps = one_of("call::primsplit::Jump")
has_carried = dtype_among(*CARRIERS)


def make_model(named: NamedBlock, beside: Sequence[NamedBlock] = (), *, merged: bool = False) -> Any:
    """Return the model of a block, ready for onnxruntime: see `onnx.save.Model`. Raises SpecError if it has no result.

    It holds numbers in the dtypes that it would have together with the blocks `beside`, whose files belong to it. With
    `merged` it repeats no op, as after onnxruntime's elimination of common subexpressions.
    """
    from primsplit.onnx.save import tell, to_model

    if not named.block.results:
        raise SpecError(
            f"{named.block.name} returns no array, and an ONNX graph needs a result",
            cure="Return an array.",
        )
    with own_errors(f"no file can be made of {named.block.name}"):
        (held,), told = _in_carriers([named], beside)
        block, jumps = _finished(held, merged=merged)
        said: dict[str, Any] = {"derivatives": held.gradients, "provenance": held.provenance}
        told = {**told, **_told_states(named)}
        model = to_model(block, held.inputs, held.outputs, told, defaults=held.defaults, **said)
        if jumps:
            from primsplit.onnx.jumps import told_jumps

            tell(model.proto, told_jumps(jumps, model.name_of))
        return model


def _finished(named: NamedBlock, *, merged: bool) -> tuple[Block, Sequence[Any]]:
    """Return the block for a file, and its operators that jump, with the values that the file has for their numbers."""
    from primsplit.targets.finish import finish

    def finished(block: Block) -> Block:
        found = finish(block, named.gradients, provider=named.provider, runtime=named.runtime)
        return merge_repeated(found) if merged else found

    if not has_jumps(named.block):
        return finished(named.block), ()
    from primsplit.onnx.jumps import find_jumps, with_numbers, without_numbers

    jumps = find_jumps(named)
    return without_numbers(finished(with_numbers(named.block, jumps)), jumps)


def _in_carriers(
    named: Sequence[NamedBlock], beside: Sequence[NamedBlock] = ()
) -> tuple[Sequence[NamedBlock], Mapping[str, str]]:
    """Return the blocks with the dtypes in carriers that their files cannot hold, and the metadata about the first.

    A dtype is in its carrier in all of them if the file of one of them, or of a block `beside`, cannot hold it.
    """
    blocks = [each.block for each in (*named, *beside)]
    if not any(map(has_carried, blocks)):
        return named, {}
    from primsplit.targets.carrying import dtypes_to_carry, in_carriers, told_dtypes

    names = dtypes_to_carry(*blocks)
    return [in_carriers(each, names) for each in named], told_dtypes(named[0], names)


def _told_states(named: NamedBlock) -> Mapping[str, str]:
    """Return the metadata of a block's states."""
    if not named.states:
        return {}
    from primsplit.onnx.states import told_states

    return told_states(named.states)


def make_proto(named: NamedBlock) -> Any:
    """Return the protobuf of a block."""
    from primsplit.onnx.save import serialize

    report_restarting_draws(named)
    with own_errors(f"no file can be made of {named.block.name}"):
        return serialize(make_model(named))


MANY = 2000
"""The ops from which onnxruntime's passes over the graph take long: the time of one of them is quadratic."""


IN_PLACE = 2**18
"""The bytes of a constant that a session reads where it lies. The file of a session would hold it twice more."""


def make_session(named: NamedBlock, threads: int | None = None) -> Any:
    """Return an onnxruntime session of a block, with so many threads, None for those that its arrays need.

    Large constants are read where they lie.
    """
    from primsplit.onnx.save import beside
    from primsplit.programs.runtime import Session
    from primsplit.targets.packing import packs_for_nothing

    has_many = any(True for _ in itertools.islice(walk(named.block), MANY, None))
    with own_errors(f"no program can be made of {named.block.name}"):
        model = make_model(replace(named, provenance="lines"), merged=has_many)
        arrays = {name: _own_array(const) for name, const in beside(model, IN_PLACE if model.fits else 0).items()}
    return Session(
        model.proto,
        threads=threads or int(_is_tiny(named.block)),
        skipped=_passes_for_nothing(model.proto) if has_many else (),
        plan_memory=_is_small(named.block),
        packs=not packs_for_nothing(named.block),
        data=arrays,
        nodes=model.nodes,
    )


HOOKS.make_session = make_session


def _passes_for_nothing(proto: Any) -> list[str]:
    """Return the names of onnxruntime's passes over the graph that find nothing to do in a merged model."""
    from primsplit.onnx.protobufs import kinds_of
    from primsplit.targets.passes import MERGING, idle_passes

    return [MERGING, *idle_passes(kinds_of(proto))]


def _own_array(const: Const) -> Any:
    """Return the numbers of a constant, copied if somebody may write to them later."""
    is_shared = isinstance(const.data, Loaded) and const.data.is_shared
    return const.numpy().copy() if is_shared else const.numpy()


SMALL = 2**24


def _is_small(block: Block) -> bool:
    """Whether all values that the block computes surely fit in so many bytes."""
    total = 0
    for size in (v.type.literal_nbytes() for op in block.ops for v in op.outputs):
        if size is None:
            return False
        total += size
    return total <= SMALL


TINY = 2**15
"""The most bytes of a value that no operator shares out among threads."""


def _is_tiny(block: Block) -> bool:
    """Whether all values in the block surely are so small that a second thread never helps."""
    ops = [*walk(block)]
    values = itertools.chain(block.params, *(op.outputs for op in ops), *(op.inputs for op in ops))
    sizes = (v.type.literal_nbytes() for v in values if v is not None)
    return all(size is not None and size <= TINY for size in sizes)


def save_models(
    programs: Sequence[tuple[NamedBlock, str]], primal: NamedBlock | None = None, *, beside: Sequence[str] = ()
) -> None:
    """Write blocks as ONNX files in one folder, all or none; `primal` is the block that they derive.

    `beside` are the paths of files that are written after these. Raises FileError if a file cannot be written, or is a
    source of the blocks.
    """
    from primsplit.onnx.files import write_models
    from primsplit.onnx.sources import check_apart, files_of

    every = [named for named, _ in programs]
    for named in every if primal is None else [primal]:
        report_restarting_draws(named)
    with own_errors("no file can be written", FileError):
        models = [(make_model(named, every), path) for named, path in programs]
        blocks = [named.block for named in (*every, *([] if primal is None else [primal]))]
        check_apart(beside, lambda: files_of(blocks))
        write_models(models, lambda: files_of(blocks))


def save_functions(joint: NamedBlock, functions: Mapping[str, NamedBlock], path: str) -> None:
    """Write a model that calls these model-local functions in order, and is `joint` from outside. Raises FileError."""
    from primsplit.onnx.files import write_models
    from primsplit.onnx.functions import to_function_model
    from primsplit.onnx.jumps import find_jumps, of_functions, told_jumps
    from primsplit.onnx.save import tell
    from primsplit.onnx.sources import files_of

    report_restarting_draws(joint)
    with own_errors(f"no file can be made of {joint.block.name}"):
        (held, *bodies), told = _in_carriers([joint, *functions.values()])
        called = dict(zip(functions, bodies, strict=True))
        model = to_function_model(held, called, {**told, **_told_states(joint)})
        tell(model.proto, told_jumps(of_functions(find_jumps(held), held), model.name_of))
        write_models([(model, path)], lambda: files_of(named.block for named in (joint, *functions.values())))


def read_model(
    path: str,
    lengths: Mapping[str, int],
    given: Mapping[str, bool],
    specs: Mapping[str, Any],
    *,
    safe_where: bool,
    constant: Iterable[str],
) -> Any:
    """Return the block of an ONNX file, with names: see `onnx.load`, and `onnx.sequences.ends.Said` for the rest."""
    from primsplit.onnx.load import load_model
    from primsplit.onnx.rare_kernels import rare_ops
    from primsplit.onnx.sequences.ends import Said

    model = load_model(path, Said(lengths, given), specs, safe_where=safe_where, constant=constant)
    if rare := rare_ops(model.block):
        from primsplit.onnx.kernels_asked import check_kernels

        check_kernels(rare)
    return model


def kinds_in_file(path: str) -> list[str]:
    """Return the operator of every node of an ONNX file. Raises FileError."""
    from primsplit.onnx.nodes import node_kinds

    return list(node_kinds(path))


def to_page(title: str, sections: Sequence[str]) -> str:
    """Return listings as a page of HTML."""
    from primsplit.programs.page import to_page as rendered

    return rendered(title, sections)


def to_fragment(sections: Sequence[str]) -> str:
    """Return listings as HTML for a notebook."""
    from primsplit.programs.page import to_fragment as rendered

    return rendered(sections)
