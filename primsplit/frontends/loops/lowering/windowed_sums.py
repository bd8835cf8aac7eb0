"""Recognizes sums over windows that are convolutions, from the factors of a sum or from what a store adds up."""

from collections.abc import Mapping, Sequence

from primsplit.frontends.loops.lowering.convolution import Convolution, Window
from primsplit.frontends.loops.lowering.masks import masked_sum
from primsplit.frontends.loops.lowering.reading import Use, has_windows, loops_of, opened, straight
from primsplit.frontends.loops.lowering.space import Course, Space
from primsplit.frontends.loops.lowering.sums import Factors, alike, contracted, factor_of, summed
from primsplit.frontends.loops.lowering.windows import Windows, cut, folded, turned
from primsplit.ir import dims
from primsplit.numpy.contraction import Label, Term
from primsplit.tracing.array import Array


def convolved(space: Space, factors: Factors, kept: Sequence[str], reduced: Sequence[str]) -> Term | None:
    """The sum of products as a Conv, where one factor is a window of an array, and the others are its kernel.

    None where that is not so, or another form is faster: of a few long sums without channels, a product with the
    windows, and in float64, for which onnxruntime has no Conv, whatever would not be a few products.
    """
    images = [factor.window for factor in factors if factor.window is not None]
    others = [factor for factor in factors if factor.window is None]
    around = {loop for factor in others for loop in factor.loops}
    if len(images) != 1 or not around or set(reduced) - {loop for factor in factors for loop in factor.loops}:
        return None
    array, uses = opened(space, images[0])
    windows = [_window(axis, use, uses, kept, reduced) for axis, use in enumerate(uses)]
    fits = all(w is None or (w.inner in around and w.outer not in around) for w in windows)
    if not fits or not all(w is not None or _is_straight(use, uses) for w, use in zip(windows, uses, strict=True)):
        return None
    image = _image(space, array, uses, windows)
    given = [window for window in windows if window is not None]
    (image, *terms), _ = alike([factor_of(image), *others])
    inner = {window.inner for window in given}
    inside = [loop for loop in (*kept, *reduced) if loop in around]
    alone = [loop for loop in inside if loop in reduced and loop not in {*image.labels, *inner}]
    kernel = contracted(space, terms, [loop for loop in inside if loop not in alone], alone)
    found = Convolution(space, image, kernel, given, kept)
    if found.is_gradient():
        if found.is_band_gradient():
            return found.as_band_gradient()
        return found.as_gradient() if found.roles.batch else None
    return found.forward() if found.is_possible() else None


def _window(axis: int, use: Use, uses: Sequence[Use], kept: Sequence[str], reduced: Sequence[str]) -> Window | None:
    """The window that an index is: of a loop that stays and one that is summed over."""
    if isinstance(use, Term) or not has_windows(use, uses):
        return None
    for (outer, stride), (inner, dilation) in (use.terms, use.terms[::-1]):
        if outer in kept and inner in reduced:
            return Window(("axis", axis), outer, stride, inner, dilation)
    return None


def _is_straight(use: Use, uses: Sequence[Use]) -> bool:
    """Whether an index is one loop that occurs in no other index."""
    return isinstance(use, Course) and len(use.terms) == 1 and sum(use.loops[0] in loops_of(u) for u in uses) == 1


def _image(space: Space, array: Array, uses: Sequence[Use], windows: Sequence[Window | None]) -> Term:
    """The elements that are read, with the axes of the windows whole."""
    labels: list[Label] = []
    for axis, (use, window) in enumerate(zip(uses, windows, strict=True)):
        assert isinstance(use, Course)
        if window is None:
            array = straight(space, array, axis, use)
            labels.append(use.loops[0])
        else:
            array = _span(space, array, axis, use, window)
            labels.append(window.axis)
    return Term(array, tuple(labels))


def _span(space: Space, array: Array, axis: int, use: Course, window: Window) -> Array:
    """The part of an axis that the windows reach; a rest that is shorter than their stride may stay."""
    low, length, size = space.lowest(use), space.reach(use), array.shape[axis]
    if space.is_whole(use, size):
        return array
    rest = size - length
    if dims.same(low, 0) and isinstance(rest, int) and 0 <= rest < abs(window.stride) and window.stride > 0:
        return array
    return cut(array, axis, low, length)


def spread(
    space: Space, factors: Factors, courses: Mapping[Label, Course], kept: Sequence[str], reduced: Sequence[str]
) -> Term:
    """The product of the factors, added up where these courses go, each in an axis of its own, and over reduced loops.

    The result has the labels of the courses, and those of the kept loops that it depends on.
    """
    ends = [loop for course in courses.values() for loop in course.loops]
    inner = [*kept, *ends]
    if any(factor.masks for factor in factors):
        term = masked_sum(space, factors, inner, reduced, lambda given: summed(space, given, inner, reduced))
    else:
        terms, _ = alike(factors)
        found = _as_convolution(space, terms, courses, kept)
        if found is not None:
            return found
        term = contracted(space, terms, inner, reduced)
    loops = tuple(dict.fromkeys((*map(str, term.labels), *ends)))
    term = Term(space.wide(term, loops), loops)
    for label, course in courses.items():
        term = _folded(space, term, label, course)
    return term


def _as_convolution(
    space: Space, terms: Sequence[Term], courses: Mapping[Label, Course], kept: Sequence[str]
) -> Term | None:
    """The sum as a ConvTranspose, where some factors have a loop of each course, and all others the other one."""
    windows = []
    for label, course in courses.items():
        (outer, stride), (inner, dilation) = space.ends(course)
        windows.append(Window(label, outer, stride, inner, dilation))
    outers, inners = {w.outer for w in windows}, {w.inner for w in windows}
    images = [t for t in terms if outers & set(t.labels)]
    kernels = [t for t in terms if not outers & set(t.labels)]
    if not images or not kernels:
        return None
    image = _product(space, images)
    kernel = _product(space, kernels)
    if inners & set(image.labels) or not outers <= set(image.labels) or not inners <= set(kernel.labels):
        return None
    found = Convolution(space, image, kernel, windows, kept)
    return found.transposed([space.count(str(label)) for label in courses]) if found.is_possible() else None


def _product(space: Space, terms: Sequence[Term]) -> Term:
    """The terms multiplied, over all loops that they have."""
    loops = dict.fromkeys(str(loop) for term in terms for loop in term.labels)
    return contracted(space, terms, list(loops), ())


def _folded(space: Space, term: Term, label: Label, course: Course) -> Term:
    """The two loops of a course as the axis that it goes along."""
    (outer, stride), (inner, dilation) = space.ends(course)
    rest = [loop for loop in term.labels if loop not in {inner, outer}]
    x = term.ordered([*rest, inner, outer]).array
    x = turned(x, x.ndim - 1) if stride < 0 else x
    x = turned(x, x.ndim - 2) if dilation < 0 else x
    windows = Windows(abs(stride), space.count(outer), abs(dilation), space.count(inner))
    return Term(folded(x, windows, space.count(str(label))), (*rest, label))
