"""Batch operators on images: the examples' images become more images of one batch.

```
y = MaxPool(x), x: float32[N,C,H,W], batched   ->   y = MaxPool(x reshaped to [B*N,C,H,W]) reshaped to [B,N,C,...]
```
"""

from primsplit import tracing
from primsplit.ir import Const, Type
from primsplit.ir.dims import Dim, product, same, symbols
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import count_up, reshape_to
from primsplit.transforms.batching.table import Outputs, Site, batching


def folded(x: Array) -> Array:
    """Return a batched value [B, N, ...] as [B N, ...]."""
    size, count, *rest = x.shape
    return reshape_to(x, [product([size, count]), *rest])


def unfolded(y: Array, site: Site, output: int = 0, *, images: int = 0) -> Array:
    """Return a result for [B N, ...] as the batched output [B, N, ...]; the input `images` has N in front."""
    wanted = site.result(output).shape or ()
    given = {s for v in site.op.inputs if v is not None for d in v.type.shape or () for s in symbols(d)}
    if all(symbols(d) <= given for d in wanted):
        return reshape_to(y, (site.size, *wanted))
    front = Array(tracing.size_vector([site.size, site.shape(images)[0]]))
    sizes = op.Concat(front, op.Shape(y, start=1), axis=0)
    return op.Reshape(y, sizes, allowzero=1, types=[Type(y.dtype, (site.size, *wanted))])


@batching(
    "AveragePool", "Col2Im", "DepthToSpace", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LRN", "LpPool",
    "STFT", "SpaceToDepth",
)  # fmt: skip
def by_image(site: Site) -> Outputs:
    """Every image is treated in the same way, whichever example it belongs to."""
    if not site.only(0):
        return None
    return unfolded(site.emit(folded(site.whole(0)), *site.inputs[1:]), site)


@batching("MaxPool")
def max_pool(site: Site) -> Outputs:
    """The places of the maxima are counted from the first image of each example."""
    if len(site.op.outputs) == 1:
        return by_image(site)
    y, places = site.emit_all(folded(site.input(0)))
    elements = product(site.shape(0))
    return unfolded(y, site), op.Sub(unfolded(places, site, 1), _offsets(site, elements, site.rank(0)))


def _offsets(site: Site, elements: Dim, rank: int) -> Array:
    """Return where the elements of each example start, [B, 1, ...]."""
    step = Array(tracing.size_of(elements))
    return op.Unsqueeze(op.Mul(count_up(site.size), step), list(range(1, rank + 1)))


@batching("MaxUnpool")
def max_unpool(site: Site) -> Outputs:
    """The places are counted from the first image of all."""
    if site.has(2):
        return None
    elements = product(site.result().shape or ())
    places = op.Add(site.whole(1), _offsets(site, elements, site.rank(1)))
    return unfolded(site.emit(folded(site.whole(0)), folded(places)), site)


@batching("GridSample")
def grid_sample(site: Site) -> Outputs:
    """An image and a grid each."""
    return unfolded(site.emit(folded(site.whole(0)), folded(site.whole(1))), site)


@batching("AffineGrid")
def affine_grid(site: Site) -> Outputs:
    """A grid for each map; the size input holds the number of images."""
    rank = site.shape(1)[0]
    if not isinstance(rank, int):
        return None
    count = tracing.size_vector([site.size, *[1] * (rank - 1)])
    return unfolded(site.emit(folded(site.input(0)), op.Mul(site.input(1), Array(count))), site)


@batching("Resize")
def resize(site: Site) -> Outputs:
    """The images of all examples; if their number is itself resized, along the axes after the batch axis."""
    if not site.only(0):
        return None
    axes, rank, x = site.attributes.get("axes"), site.rank(0), site.input(0)
    if axes is not None and all(axis % rank for axis in axes):
        return unfolded(site.emit(folded(x), *site.inputs[1:]), site)
    if axes is None and _keeps_images(site):
        sizes = site.inputs[3] if site.has(3) else None
        if sizes is not None:
            images = Array(tracing.size_vector([product([site.size, site.shape(0)[0]])]))
            sizes = op.Concat(images, op.Slice(sizes, [1], [rank]), axis=0)
        return unfolded(site.emit(folded(x), site.inputs[1], site.inputs[2], *([] if sizes is None else [sizes])), site)
    if site.attributes["mode"] in {"nearest", b"nearest"}:
        behind = [a % rank + 1 for a in (range(rank) if axes is None else axes)]
        return site.emit(x, *site.inputs[1:], axes=behind)
    return None


def _keeps_images(site: Site) -> bool:
    """Whether the first axis is provably not resized."""
    if site.rank(0) < 3:
        return False
    if site.has(3):
        sizes = site.op.inputs[3]
        return sizes is not None and sizes.sizes is not None and same(sizes.sizes[0], site.shape(0)[0])
    scales = site.op.inputs[2]
    return isinstance(scales, Const) and bool(scales.numpy()[0] == 1)


@batching("RoiAlign")
def roi_align(site: Site) -> Outputs:
    """The regions of all examples, each in an image of its own example."""
    first = op.Mul(count_up(site.size), Array(tracing.size_of(site.shape(0)[0])))
    images = op.Add(site.whole(2), op.Unsqueeze(first, [1]))
    regions = [folded(site.whole(i)) for i in (0, 1)]
    count = product([site.size, site.shape(2)[0]])
    return unfolded(site.emit(*regions, reshape_to(images, [count])), site, images=1)


@batching("DeformConv")
def deformable(site: Site) -> Outputs:
    """Images, offsets and masks of all examples; weights that differ between examples use the fallback loop."""
    if not site.only(0, 2, 4):
        return None
    places = [folded(site.whole(i)) if i in {0, 2, 4} and site.has(i) else x for i, x in enumerate(site.inputs)]
    return unfolded(site.emit(*places), site)


@batching("Conv", "ConvTranspose")
def convolution(site: Site) -> Outputs:
    """Images of all examples by shared weights; weights of their own become groups of channels.

    The number of groups is an attribute: a batch whose size only the run knows uses the fallback loop, unless the
    images are shared.
    """
    if site.only(0):
        return unfolded(site.emit(folded(site.input(0)), *site.inputs[1:]), site)
    group = site.attributes["group"]
    is_shared = not site.is_batched(0) and group == 1 and site.kind == "Conv"
    if not is_shared and (not isinstance(site.size, int) or site.size == 0):
        return None
    x = site.input(0) if is_shared else side_by_side(site.whole(0))
    groups = group if is_shared else group * int(site.size)
    y = site.emit(x, folded(site.whole(1)), group=groups)
    count, *rest = site.result().shape or ()
    apart = reshape_to(y, (count, site.size, *rest))
    y = op.Transpose(apart, perm=[1, 0, *range(2, len(rest) + 2)])
    if not site.has(2):
        return y
    bias = op.Unsqueeze(site.input(2), list(range(-len(rest) + 1, 0))) if len(rest) > 1 else site.input(2)
    return op.Add(y, op.Unsqueeze(bias, [1]) if site.is_batched(2) else bias)


def side_by_side(x: Array) -> Array:
    """Return the channels of all examples as channels of one: [B, N, C, ...] as [N, B C, ...]."""
    size, count, channels, *rest = x.shape
    turned = op.Transpose(x, perm=[1, 0, *range(2, len(x.shape))])
    return reshape_to(turned, [count, product([size, channels]), *rest])
