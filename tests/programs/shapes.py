"""Programs of shapes: broadcasting against sizes, sizes in arithmetic, axes of size 1, joining and reordering."""

from primsplit import numpy as np
from tests.programs.table import Table, integers, uniform

PROGRAMS = Table()
program = PROGRAMS.program


@program((4, 1), (5,), (1, 1))
def outer_broadcast(a, b, c):
    return a * b + c


@program((4, 3), resize=(1, 0))
def sizes_in_arithmetic(x):
    n, d = x.shape
    return x.sum() / n + n * d * x.mean(axis=0) + 0.5 * n - d / 2 + x.size


@program((4, 3), (4, 3))
def mean_squared_error(x, y):
    return ((x - y) ** 2).sum() / (x.shape[0] * x.shape[1])


@program((4, 3), resize=(1, 0))
def flatten_and_back(x):
    return (x.reshape(-1) * np.arange(x.size)).reshape(x.shape).T


@program((2, 3, 4), resize=(1, 0))
def merge_axes(x):
    b, t, d = x.shape
    y = x.reshape(b * t, d)
    return (y - y.mean(axis=1, keepdims=True)).reshape(b, t, d).transpose(2, 0, 1)


@program((5,), resize=(1, 0))
def distance_matrix(x):
    return np.abs(x[:, None] - x[None, :]) ** 3


@program((4, 3), resize=(1, 2))
def halves(x):
    n = x.shape[0]
    return x[: n // 2].sum() - 2 * x[n // 2 :].sum()


@program((5,), resize=(1, 2))
def ends(x):
    return x[0] * x[-1] + x[:1].sum() * x[-1:].sum()


@program((5,), (3,), resize=(1, 0))
def concatenate_and_stack(a, b):
    c = np.concatenate([a, b, a[::-1]])
    return c, np.stack([a, a**2], axis=1), np.hstack([b, a]), np.vstack([a, -a]), np.append(a, b)


@program((3, 4), resize=(1, 0), symbolic=False)
def pads(x):
    return np.pad(x, ((1, 2), (0, 1))), np.pad(x, 1, mode="edge") if x.shape[0] != 0 else x


@program((3, 4), resize=(1,))
def tile_repeat_roll(x):
    return np.tile(x, (2, 1)), np.repeat(x, 3, axis=1), np.roll(x, 1, axis=0), np.flip(x, 1), np.rot90(x)


@program((3, 4, 2), resize=(1, 0))
def reductions_over_axes(x):
    return x.sum(axis=(0, 2)), x.mean(axis=-1, keepdims=True), (x**2).sum(), np.prod(x, axis=1)


@program((3, 4), resize=(1,))
def extrema(x):
    return x.max(), x.min(axis=0), np.ptp(x, axis=1), np.amax(x, axis=1, keepdims=True)


@program((3, 4), (4, 5), (5,), resize=(1, 0))
def products_of_every_rank(a, b, c):
    return a @ b @ c, np.dot(c, c), np.dot(a, b), b @ c, c @ b.T, np.outer(c, c), np.inner(b, c), np.tensordot(a, b, 1)


@program((2, 3, 4), (4, 2), resize=(1, 0))
def batched_products(a, b):
    return a @ b, np.matmul(a, b[None]), np.einsum("bij,jk->bik", a, b), np.einsum("bij,jb->i", a, b)


@program((3, 4), resize=(1, 0))
def einsum_forms(x):
    return np.einsum("ij->ji", x), np.einsum("ij->", x), np.einsum("ij,ij->i", x, x), np.einsum("ij,kj->ik", x, x)


@program((4, 4), symbolic=False)
def traces_and_triangles(x):
    return np.trace(x), np.einsum("ii", x), np.diagonal(x, 1), np.tril(x), np.triu(x, 1), np.diag(x[0])


@program((6,), integers(4, high=6), resize=(1,))
def gather_forms(x, i):
    return x[i], x[-i - 1], np.take(x, i), x[i[::-1]] * x[i], x[i][:, None] - x[i]


@program((5, 3), integers(5, high=3))
def gather_along_axis(x, i):
    return np.take_along_axis(x, i[:, None], axis=1), x[np.arange(x.shape[0]), i]


@program((5, 3), symbolic=False)
def index_by_argsort(x):
    order = np.argsort(x[:, 0])
    return x[order] * np.arange(x.shape[0])[:, None], np.sort(x, axis=0), x[x.argmax(axis=0), [0, 1, 2]]


@program((3, 1, 4), resize=(1, 0))
def new_axes(x):
    y = x.squeeze(1)
    return y[:, None, :, None].sum(-1) - np.expand_dims(y, 1), x.swapaxes(0, 2), np.moveaxis(x, 0, -1)


@program((5,), resize=(1, 0))
def cumulative(x):
    return np.cumsum(x), np.cumprod(x), np.cumsum(x[::-1])[::-1], x.cumsum()[-1:]


@program((6,), resize=(2,))
def differences(x):
    return np.diff(x), np.diff(x, n=2), np.gradient(x)


@program((2, 6), resize=(1,), symbolic=False, order=1, step=1e-3)
def windows(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
    return w.mean(axis=-1), w.max(axis=-1)


@program((3,), (4,), resize=(1, 0))
def grids(a, b):
    x, y = np.meshgrid(a, b)
    u, v = np.meshgrid(a, b, indexing="ij")
    return np.sin(x) * y, np.cos(u * v)


@program((4, 3), (3,), resize=(1, 0))
def broadcast_forms(x, v):
    a, b = np.broadcast_arrays(x, v)
    return a + b, np.broadcast_to(v, x.shape) * x, np.full_like(x, 2.0) * v, np.ones((x.shape[0], 1)) * v


@program(0.7, 1.3)
def scalars_only(a, b):
    return a * b + np.sin(a) / b, a**b, b**2 - abs(a), max(2, 3) * a


@program(np.array(0.5), (3,))
def zero_dimensional(s, x):
    return s * x, s[()] + 1, np.reshape(s, (1,)), s.sum(), np.stack([s, s]), x + s[None]


@program(np.ones((0, 3)), (3,), symbolic=False)
def nothing_at_all(x, w):
    return (x @ w).sum() + w.sum(), x * w, np.concatenate([x, w[None]])


@program((4, 3), resize=())
def statistics(x):
    return x.std(axis=0), x.var(), np.average(x, axis=1), np.median(x, axis=0)


@program((4, 3), uniform(4), resize=(1,))
def weighted_average(x, w):
    return np.average(x, axis=0, weights=w), (w[:, None] * x).sum(0) / w.sum()


@program((3, 5), wrt=0, step=1e-3)
def array_methods(x):
    return x.T.copy().flatten(), x.ravel().dot(x.ravel()), x.clip(-1, 1), x.round(1) + x, x.astype(np.float64)
