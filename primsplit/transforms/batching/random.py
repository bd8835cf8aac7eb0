"""Batch random operators: each example draws numbers of its own, also where nothing that it reads is batched."""

import numpy as np

from primsplit.ir import Const, Op, walk
from primsplit.ir.dims import Size
from primsplit.ops import op
from primsplit.ops.traits import traits
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros
from primsplit.transforms.batching.folding import by_image
from primsplit.transforms.batching.table import Outputs, Site, batching


def draws(op: Op) -> bool:
    """Whether the op draws random numbers, or has such ops inside."""
    if not any(op.blocks()):
        return traits(op.kind).random and not _keeps_all(op)
    return any(traits(inner.kind).random and not _keeps_all(inner) for block in op.blocks() for inner in walk(block))


def _keeps_all(op: Op) -> bool:
    """Whether it is a Dropout that is the identity."""
    if op.kind != "Dropout":
        return False
    mode = op.inputs[2] if len(op.inputs) > 2 else None
    return mode is None or (isinstance(mode, Const) and not mode.numpy().any())


@batching("RandomNormal", "RandomUniform")
def standard_draw(site: Site) -> Outputs:
    """A draw of all examples at once."""
    shape = (site.size, *site.attributes["shape"])
    if not isinstance(site.size, Size):
        return site.emit(shape=list(shape))
    like = zeros(shape, np.dtype(np.float32))
    more = {k: v for k, v in site.attributes.items() if k != "shape"}
    drawn: Array = getattr(op, f"{site.kind}Like")(like, **more)
    return drawn


@batching("Bernoulli", "RandomNormalLike", "RandomUniformLike")
def like(site: Site) -> Outputs:
    """A draw for each element of each example."""
    return site.emit(site.whole(0))


@batching("Dropout")
def dropout(site: Site) -> Outputs:
    """A mask for each example; a ratio or mode that differs between examples uses the fallback loop."""
    return site.emit_all(site.whole(0), *site.inputs[1:]) if site.only(0) else None


@batching("Multinomial")
def multinomial(site: Site) -> Outputs:
    """Samples for each distribution of each example."""
    return by_image(site)
