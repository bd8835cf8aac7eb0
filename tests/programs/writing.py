"""Programs that write: in-place assembling, augmented assignment, views, out=, ufunc.at, masks."""

from primsplit import numpy as np
from tests.programs.table import Table, integers, uniform

PROGRAMS = Table()
program = PROGRAMS.program


@program((5,), symbolic=False)
def stiffness_assembly(k):
    """The tridiagonal matrix of springs in a row."""
    n = 6
    K = np.zeros((n, n))
    for e in range(5):
        K[e : e + 2, e : e + 2] += k[e] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return K


@program((6,), symbolic=False)
def symmetric_from_triangle(v):
    A = np.zeros((3, 3))
    A[np.tril_indices(3)] = v
    return A + A.T - np.diag(np.diag(A))


@program((3,), symbolic=False)
def skew_matrix(w):
    W = np.zeros((3, 3))
    W[0, 1], W[0, 2], W[1, 2] = -w[2], w[1], -w[0]
    W -= W.T
    return W @ W


@program((4, 3))
def augmented_assignment(x):
    y = x * 1.0
    y += x
    y *= x
    y -= 1
    y /= 2
    y **= 2
    return y


@program((4,))
def augmented_scalar_is_a_new_number(x):
    total = x.sum()
    before = total
    total += 1.0
    total *= 2.0
    return before * total


@program((4,))
def element_is_a_copy(x):
    y = x.copy()
    first = y[0]
    first += 10.0
    y[0] = 3.0 * first
    return y * first


@program((4, 3))
def row_is_a_view(x):
    y = x * 2
    row = y[1]
    row += 1.0
    row[0] = x[0, 0] ** 2
    return y, row


@program((5, 6))
def chained_views(x):
    y = x + 0.0
    block = y[1:4]
    inner = block[:, ::2]
    inner[1] *= 3.0
    inner[:, -1] = x[0, 0]
    block[0, 1] = 7.0
    return y, block.sum(axis=0), inner.T


@program((6,))
def negative_strides(x):
    y = x.copy()
    y[::-1][:2] = x[2:4] ** 2
    y[::-2] += x[::2]
    return y[::-1] * x


@program((4, 4), symbolic=False)
def diagonal_writes(x):
    y = x.copy()
    np.fill_diagonal(y, 0.0)
    z = x * 1
    z[np.arange(4), np.arange(4)] += 1.0
    return y @ z


@program((4, 5))
def transpose_is_a_view(x):
    y = x.copy()
    y.T[2] = 1.0
    t = y.T
    y[0] = x[1]
    return t * 2


@program((6,), step=1e-3)
def boolean_mask_write(x):
    y = x.copy()
    y[y < 0] = 0.0
    y[x > 1] *= 2.0
    return y * x


@program((6,), step=1e-3)
def boolean_mask_read(x):
    return (x[x > 0] ** 2).sum(), np.exp(x)[x < 0].sum()


@program((5, 3), step=1e-3)
def row_mask(x):
    keep = x[:, 0] > 0
    return (x[keep] * 2).sum(axis=0)


@program((6,), uniform(6))
def where_guards_nan(x, y):
    """The gradient of the branch not taken must not leak a NaN."""
    safe = np.where(x > 0, x, 1.0)
    return np.where(x > 0, np.log(safe) * np.sqrt(safe), 0.0) + y


@program((7,), integers(7, high=4))
def repeated_add_at(x, i):
    total = np.zeros(4)
    np.add.at(total, i, x**2)
    np.subtract.at(total, 1, x[0])
    return total


@program((7,), integers(7, high=4))
def fancy_write_keeps_the_last(x, i):
    y = np.zeros(4)
    y[i] = x
    return y


@program((7,), integers(3, high=7))
def fancy_increment_happens_once(x, i):
    y = x.copy()
    y[i] += 1.0 + x[i]
    return y


@program((4, 3), (4, 3))
def out_argument(x, y):
    result = np.empty_like(x)
    np.multiply(x, y, out=result)
    np.add(result[:2], 1.0, out=result[:2])
    return np.exp(result, out=result)


@program((5,), (5,), step=1e-3)
def ufunc_where(x, y):
    ratio = np.divide(x, y, out=np.zeros_like(x), where=y > 0)
    return ratio + np.add(x, y, where=x > 0, out=x.copy())


@program((5, 4))
def swapped_rows(x):
    y = x.copy()
    y[[0, 2]] = y[[2, 0]]
    a, b = y[1].copy(), y[3].copy()
    y[1], y[3] = b, a
    return y * x


@program((4,))
def argument_is_written_to(x):
    x[1:] += x[:-1] * 2
    return x**2


@program((3, 3), symbolic=False)
def gaussian_elimination(A):
    """Without pivoting, in place, on a matrix made diagonally dominant."""
    A = A + 5 * np.eye(3)
    for k in range(3):
        for i in range(k + 1, 3):
            A[i, k] /= A[k, k]
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    return np.prod(np.diag(A))


@program((3, 3), symbolic=False)
def hand_made_cholesky(root):
    A = root @ root.T + np.eye(3)
    L = np.zeros_like(A)
    for i in range(3):
        for j in range(i + 1):
            s = A[i, j] - L[i, :j] @ L[j, :j]
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
    return L


@program((6,), symbolic=False)
def prefix_by_loop(x):
    out = np.empty(6)
    total = 0.0
    for i, value in enumerate(x):
        total += value
        out[i] = total
    return out


@program((4, 6), symbolic=False)
def column_loop(x):
    out = np.zeros_like(x)
    out[:, 0] = x[:, 0]
    for j in range(1, x.shape[1]):
        out[:, j] = 0.5 * out[:, j - 1] + x[:, j]
    return out


@program((3, 4), (4,), symbolic=False)
def put_and_copyto(x, v):
    y = x.copy()
    np.copyto(y[0], v)
    np.put_along_axis(y, np.array([[0], [1], [2]]), -1.0, axis=1)
    return y


@program((5, 5))
def border_and_ellipsis(x):
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = x[1:-1, 1:-1]
    y[..., 0] = x[..., -1]
    y[-1, ...] += 1
    y[:, None, 2] = 4.0
    return y * x


@program((4,))
def swap_by_tuple(x):
    y = x.copy()
    y[0], y[-1] = y[-1], y[0]
    return y * np.arange(x.shape[0])


@program((2, 3), symbolic=False)
def split_views_write_through(x):
    y = x.copy()
    a, b = np.split(y, 2, axis=0)
    a[...] = b * 2
    return y


@program((3, 4))
def sort_in_place(x):
    y = x.copy()
    y.sort(axis=1)
    z = y[:, ::-1].cumsum(axis=1)
    return z / (1 + z**2)


@program((4,))
def zero_dimensional_array_is_written(x):
    cell = np.zeros(())
    cell += x.sum()
    alias = cell
    alias *= 2.0
    return cell * x
