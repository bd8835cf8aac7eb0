"""Sums over windows as Conv, and their transposes as ConvTranspose.

`y[b, o, i] = x[b, c, s*i + d*a] * k[o, c, a]`, with any of the loops b, o and c missing, there several times, or
shared by all three arrays, which makes groups. The transpose adds `y[b, c, i] * k[c, o, a]` to the element `s*i + d*a`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from primsplit import tracing
from primsplit.frontends.loops.lowering.bands import BLOCK, added_back, correlated, taps_of
from primsplit.frontends.loops.lowering.space import Space
from primsplit.frontends.loops.lowering.windows import cut, turned
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.numpy.contraction import Label, Term, without_own
from primsplit.ops import op
from primsplit.rules.convolution import weight_cotangent
from primsplit.rules.windows import Windows
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, reshape_to, size_scalar
from primsplit.tracing.regions import emit_if, record

MOST_TAPS = 32
"""Up to so many taps a float64 kernel, whose convolution has an operator for each, is one."""


@dataclass(frozen=True, slots=True)
class Window:
    """An axis of the image, indexed by `stride * outer + dilation * inner`; the kernel has the inner loop."""

    axis: Label
    outer: str
    stride: int
    inner: str
    dilation: int


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of the loops of an image and a kernel, apart from the windows."""

    batch: tuple[Label, ...]
    group: tuple[Label, ...]
    channels: tuple[Label, ...]
    results: tuple[Label, ...]

    @staticmethod
    def of(image: Sequence[Label], kernel: Sequence[Label], kept: Sequence[str]) -> "Roles":
        """The roles of these loops, of which those that are kept are in the result."""
        shared = [loop for loop in image if loop in kernel]
        return Roles(
            batch=tuple(loop for loop in image if loop not in kernel),
            group=tuple(loop for loop in shared if loop in kept),
            channels=tuple(loop for loop in shared if loop not in kept),
            results=tuple(loop for loop in kernel if loop not in image),
        )


class Convolution:
    """An image and a kernel of one dtype, both without loops that only they have and that are summed over.

    The image has the axes of the windows, or for the transpose their outer loops; the kernel has the inner loops.
    """

    def __init__(self, space: Space, image: Term, kernel: Term, windows: Sequence[Window], kept: Sequence[str]) -> None:
        inner = [w.inner for w in windows]
        ends = [label for w in windows for label in (w.axis, w.outer)]
        self.space = space
        self.windows = windows
        self.image = without_own(image, kernel, (*kept, *ends))
        self.kernel = without_own(kernel, image, (*kept, *inner))
        self.roles = Roles.of(
            [loop for loop in self.image.labels if loop not in ends],
            [loop for loop in self.kernel.labels if loop not in inner],
            kept,
        )

    def is_possible(self) -> bool:
        """Return whether onnxruntime has this convolution, and it is the fastest form.

        The number of groups is an attribute. What replaces a convolution of float64 takes the kernel apart.
        """
        taps = [self.space.count(w.inner) for w in self.windows]
        if not isinstance(self._size(self.roles.group), int) or not 1 <= len(self.windows) <= 3:
            return False
        if self.image.array.dtype == np.float32:
            return True
        known = [n for n in taps if isinstance(n, int)]
        are_few = len(known) == len(taps) and math.prod(known) <= MOST_TAPS
        return self.image.array.dtype == np.float64 and are_few and isinstance(self._size(self.roles.channels), int)

    def forward(self) -> Term:
        """The sums, over the kept loops."""
        if self._is_band(self.windows[0].inner):
            return self._by_band(correlated, self.windows[0].axis, self.windows[0].outer)
        roles, windows = self.roles, self.windows
        outer = [w.outer for w in windows]
        counts = [self.space.count(loop) for loop in outer]
        rows = self._size(roles.group) * self._size(roles.results)
        image = self._folded(self.image, (roles.batch, (*roles.group, *roles.channels)), [w.axis for w in windows])
        kernel = self._kernel(((*roles.group, *roles.results), roles.channels))
        declared = Type(image.dtype, (image.shape[0], rows, *counts))
        found = self._emitted("Conv", image, kernel, declared)
        loops = (*roles.batch, *roles.group, *roles.results)
        return self._unfolded(_turned(found, [w.stride for w in windows]), loops, outer, counts)

    def is_gradient(self) -> bool:
        """Whether there are few results along each window, each a long sum, as in the gradient of a kernel.

        Sums whose length only the run knows are taken to be long.
        """
        few = [self.space.count(w.outer) for w in self.windows]
        known = [n for n in few if isinstance(n, int)]
        are_few = len(known) == len(few) and math.prod(known) <= MOST_TAPS
        long = dims.product(self.space.count(w.inner) for w in self.windows)
        is_long = not isinstance(long, int) or long >= math.prod(known)
        return are_few and is_long and isinstance(self._size(self.roles.group), int)

    def as_gradient(self) -> Term:
        """The sums, over the kept loops, in the form that the gradient of a Conv's weights has."""
        roles, windows = self.roles, self.windows
        image = self._folded(self.image, (roles.channels, (*roles.group, *roles.batch)), [w.axis for w in windows])
        kernel = self._kernel((roles.channels, (*roles.group, *roles.results)))
        outer, none = [w.outer for w in windows], (0,) * len(windows)
        counts = tuple(self.space.count(loop) for loop in outer)
        steps = Windows(
            sizes=image.shape[2:],
            kernel=counts,
            strides=tuple(abs(w.dilation) for w in windows),
            dilations=tuple(abs(w.stride) for w in windows),
            before=none,
            after=none,
            counts=kernel.shape[2:],
        )
        group, channels = self._size(roles.group), self._size(roles.batch)
        assert isinstance(group, int)
        declared = Type(image.dtype, (kernel.shape[1], channels, *counts))
        found = _guarded(lambda: weight_cotangent(image, kernel, steps, channels, group), [image, kernel], declared)
        turned_back = _turned(found, [w.stride for w in windows])
        return self._unfolded(turned_back, (*roles.group, *roles.results, *roles.batch), outer, counts)

    def is_band_gradient(self) -> bool:
        """Whether this is the gradient of a kernel of few taps without a batch, in float64."""
        return self._is_band(self.windows[0].outer) and not self.roles.batch

    def as_band_gradient(self) -> Term:
        """The sums, over the kept loop, by a band matrix."""
        (window,) = self.windows
        taps, channels = self.space.count(window.outer), (self.roles.channels,)
        x, y = self._folded(self.image, channels, [window.axis]), self._folded(self.kernel, channels, [window.inner])
        return Term(taps_of(x, y, taps=taps), (window.outer,))

    def _is_band(self, taps: str) -> bool:
        """Return whether the window, whose taps this loop is over, is a product with a band matrix."""
        (window, *others), roles, count = self.windows, self.roles, self.space.count(taps)
        return (
            not others
            and window.stride == window.dilation == 1
            and self.image.array.dtype == np.float64
            and isinstance(count, int)
            and 1 <= count <= BLOCK + 1
            and not (roles.group or roles.results or (roles.channels and taps == window.inner))
        )

    def _by_band(self, product: Callable[[Array, Array], Array], source: Label, target: Label) -> Term:
        """The product of the image and the kernel by a band matrix, from one axis of the image to another."""
        batch = self.roles.batch
        found = product(self._folded(self.image, (batch,), [source]), self.kernel.array)
        counts = [self.space.count(str(loop)) for loop in (*batch, target)]
        return Term(reshape_to(cut(found, 1, 0, counts[-1]), counts), (*batch, target))

    def transposed(self, lengths: Sequence[Dim]) -> Term:
        """Return the sum at each element of the windows' axes, of these lengths, over these axes and the kept loops."""
        if self._is_band(self.windows[0].inner):
            return self._by_band(added_back, self.windows[0].outer, self.windows[0].axis)
        roles, windows = self.roles, self.windows
        rows = self._size(roles.group) * self._size(roles.results)
        image = self._folded(self.image, (roles.batch, (*roles.group, *roles.channels)), [w.outer for w in windows])
        image = _turned(image, [w.stride for w in windows])
        kernel = self._kernel(((*roles.group, *roles.channels), roles.results))
        declared = Type(image.dtype, (image.shape[0], rows, *lengths))
        found = self._emitted("ConvTranspose", image, kernel, declared)
        loops = (*roles.batch, *roles.group, *roles.results)
        return self._unfolded(found, loops, [w.axis for w in windows], lengths)

    def _size(self, loops: Sequence[Label]) -> Dim:
        return dims.product(self.space.count(str(loop)) for loop in loops)

    def _folded(self, term: Term, groups: Sequence[Sequence[Label]], places: Sequence[Label]) -> Array:
        """The array with one axis for each group of loops, and then the places."""
        ordered = term.ordered([*(loop for group in groups for loop in group), *places])
        sizes = [ordered.size(place) for place in places]
        return reshape_to(ordered.array, [*map(self._size, groups), *sizes])

    def _kernel(self, groups: Sequence[Sequence[Label]]) -> Array:
        array = self._folded(self.kernel, groups, [w.inner for w in self.windows])
        return _turned(array, [w.dilation for w in self.windows])

    def _unfolded(self, found: Array, loops: Sequence[Label], places: Sequence[Label], sizes: Sequence[Dim]) -> Term:
        """The array with an axis for each of these loops, and then the places."""
        shape = [*(self.space.count(str(loop)) for loop in loops), *sizes]
        return Term(reshape_to(found, shape), (*loops, *places))

    def _emitted(self, kind: str, image: Array, kernel: Array, declared: Type) -> Array:
        """The convolution of the folded arrays."""
        attributes = {
            "group": self._size(self.roles.group),
            "strides": [abs(w.stride) for w in self.windows],
            "dilations": [abs(w.dilation) for w in self.windows],
        }

        def made() -> Array:
            return Array(tracing.emit(kind, [image.value, kernel.value], attributes, types=[declared])[0])

        return _guarded(made, [image, kernel], declared)


def _guarded(make: Callable[[], Array], operands: Sequence[Array], declared: Type) -> Array:
    """Record `make`, or zeros if an operand or the result has no elements, which onnxruntime refuses."""
    sizes = [size for array in operands for size in array.shape] + list(declared.shape or ())
    unsure = [size for size in sizes if not dims.at_least(size, 1)]

    def nothing() -> Array:
        return full(declared.shape or (), np.zeros((), declared.dtype))

    if not unsure or any(dims.same(size, 0) for size in unsure):
        return nothing() if unsure else make()
    some, none = record("some", [], lambda: [make().value]), record("none", [], lambda: [nothing().value])
    is_some = op.Greater(size_scalar(dims.product(unsure)), 0)
    return Array(emit_if(is_some.value, some, none, [declared])[0])


def _turned(array: Array, steps: Sequence[int]) -> Array:
    """The array with the axes of the places turned whose step goes backwards."""
    for axis, step in enumerate(steps):
        array = turned(array, axis + 2) if step < 0 else array
    return array
