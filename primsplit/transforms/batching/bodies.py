"""Batch operators through the function bodies that the standard defines for them."""

from primsplit import tracing
from primsplit.rules.bodies import body_of
from primsplit.tracing.array import Array
from primsplit.transforms.batching.table import Outputs, Shared, Site, batching


@batching("CenterCropPad", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def through_body(site: Site) -> Outputs:
    """Batch the body's own ops."""
    with tracing.fresh_stack():
        body, positions = body_of(site.op)
    made, flags = site.batch(body, [site.is_batched(i) for i in positions])
    values = tracing.inline(made, [site.input(i).value for i in positions])
    return [Array(v) if f else Shared(Array(v)) for v, f in zip(values, flags, strict=True)]
