"""Infer the result types of reductions along axes, of ArgMax and of TopK."""

from collections.abc import Sequence

import numpy as np

from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ops.inference.table import Site, axis_of, fresh, rule, typed
from primsplit.ops.traits import kinds_where

REDUCTIONS = sorted(kinds_where(lambda t: t.reduces))


@rule(*REDUCTIONS)
def reduction(site: Site) -> Sequence[Type]:
    """The input without the reduced axes, or with size 1 there."""
    shape, dtype = site.shape(0), site.type(0).dtype
    keep = bool(site.attribute("keepdims"))
    axes: tuple[int, ...] | None = site.integers(1)
    if site.has(1) and axes is None:
        return (_at_run_time(site, keep=keep),)
    if not axes:
        if site.attribute("noop_with_empty_axes"):
            return typed(dtype, shape)
        axes = tuple(range(len(shape)))
    gone = {axis_of(a, len(shape), site.kind) for a in axes}
    if keep:
        return typed(dtype, tuple(1 if i in gone else d for i, d in enumerate(shape)))
    return typed(dtype, tuple(d for i, d in enumerate(shape) if i not in gone))


def _at_run_time(site: Site, *, keep: bool) -> Type:
    """Return the type for axes that only the run knows: their number gives the rank, unless that is unknown too."""
    shape, dtype = site.shape(0), site.type(0).dtype
    (count,) = site.shape(1)
    if isinstance(count, Size) and not keep:
        return Type(dtype, None)
    if keep or (dims.same(count, 0) and site.attribute("noop_with_empty_axes")):
        return Type(dtype, tuple(fresh("reduced") for _ in shape))
    return Type(dtype, tuple(fresh("reduced") for _ in range(len(shape) - count if count else 0)))


@rule("ArgMax", "ArgMin")
def arg_extremum(site: Site) -> Sequence[Type]:
    """int64, one axis gone or of size 1."""
    shape = site.shape(0)
    gone = axis_of(site.attribute("axis"), len(shape), site.kind)
    kept = (1,) if site.attribute("keepdims") else ()
    return typed(np.int64, (*shape[:gone], *kept, *shape[gone + 1 :]))


@rule("TopK")
def top_k(site: Site) -> Sequence[Type]:
    """Values and int64 indices, `k` along the axis."""
    shape = list(site.shape(0))
    known = site.sizes(1)
    size: Dim = fresh("k") if known is None else known[0]
    shape[axis_of(site.attribute("axis"), len(shape), site.kind)] = size
    return Type(site.type(0).dtype, shape), Type(np.int64, shape)
