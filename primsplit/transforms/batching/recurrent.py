"""Batch recurrent layers: the sequences of all examples become sequences of one batch."""

from primsplit.ir.dims import product
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.transforms.batching.table import Outputs, Site, batching

STATES = (5, 6)


@batching("GRU", "LSTM", "RNN")
def recurrent(site: Site) -> Outputs:
    """Weights that differ between examples use the fallback loop."""
    layout = site.attributes["layout"]
    if not site.only(0, 4, *STATES):
        return None
    inputs: list[Array | None] = list(site.inputs)
    inputs[0] = _merged(site.whole(0), 0 if layout else 1)
    if site.has(4):
        lengths = site.whole(4)
        inputs[4] = reshape_to(lengths, [product(lengths.shape)])
    for position in STATES:
        if site.has(position):
            inputs[position] = _merged(site.whole(position), 0 if layout else 1)
    outputs = site.emit_all(*inputs)
    places = [0, 0, 0] if layout else [2, 1, 1]
    return [_apart(y, place, site, i) for i, (y, place) in enumerate(zip(outputs, places, strict=False))]


def _merged(x: Array, axis: int) -> Array:
    """Join the axis `axis` of each example with the batch axis, at that place."""
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(x.shape))]
    turned = x if axis == 0 else op.Transpose(x, perm=order)
    shape = list(turned.shape)
    return reshape_to(turned, [*shape[:axis], product(shape[axis : axis + 2]), *shape[axis + 2 :]])


def _apart(y: Array, axis: int, site: Site, output: int) -> Array:
    """Undo `_merged` for an output."""
    wanted = list(site.result(output).shape or ())
    whole = reshape_to(y, [*wanted[:axis], site.size, *wanted[axis:]])
    rest = [i for i in range(len(wanted) + 1) if i != axis]
    return whole if axis == 0 else op.Transpose(whole, perm=[axis, *rest])
