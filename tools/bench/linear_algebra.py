"""Dense linear algebra beside torch, jax, LAPACK with gradients by hand, and forms that are known to be fast."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from tools.bench.calls import Call
from tools.bench.rows import Ours, Peers, Row, function_row, gradient, program_call

PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
"""The pairs of columns of four, in the order of the minors."""
BLOCK = 20
"""The rows of a diagonal block of the triangular system."""


def rows() -> Iterator[Row]:
    """The rows of this file."""
    for n in (100, 500):
        yield solve_row(n)
        yield cholesky_row(n)
    yield spectrum_row("eigvalsh 100", lambda xp, x: xp.sum(xp.linalg.eigvalsh(x) ** 3), eigvalsh_by_hand)
    yield spectrum_row("eigh 100", lambda xp, x: xp.sum(xp.linalg.eigh(x)[1][:, -1] ** 4), eigh_by_hand)
    yield batch_row("det")
    yield batch_row("inv")
    for columns in (1, 500):
        yield triangular_row(columns)
    yield toeplitz_row()
    yield sparse_row()


def positive(n: int) -> np.ndarray[Any, Any]:
    """A positive definite matrix that is well conditioned."""
    a = np.random.default_rng(0).standard_normal((n, n))
    return np.asarray(a @ a.T / n + np.eye(n))


def solve_row(n: int) -> Row:
    """The sum of the solution of a system."""
    x, right = positive(n), np.ones(n)

    def by_hand() -> Any:
        factors = scipy.linalg.lu_factor(x)
        y, z = scipy.linalg.lu_solve(factors, right), scipy.linalg.lu_solve(factors, right, trans=1)
        return y.sum(), -np.outer(z, y)

    def function(xp: Any, x: Any, right: Any) -> Any:
        return xp.sum(xp.linalg.solve(x, right))

    return _with_lapack(f"linear_algebra solve {n}", f"{n} x {n}", function, (x, right), by_hand)


def cholesky_row(n: int) -> Row:
    """Half the logarithm of the determinant, by a factor of Cholesky. The gradient is taken apart from its symmetry."""
    x = positive(n)

    def by_hand() -> Any:
        factor = scipy.linalg.cholesky(x, lower=True)
        inverse = scipy.linalg.cho_solve((factor, True), np.eye(n))
        return np.log(np.diagonal(factor)).sum(), inverse / 2

    def function(xp: Any, x: Any) -> Any:
        return xp.sum(xp.log(xp.diagonal(xp.linalg.cholesky((x + x.T) / 2))))

    return _with_lapack(f"linear_algebra cholesky {n}", f"{n} x {n}", function, (x,), by_hand)


def eigvalsh_by_hand(x: np.ndarray[Any, Any]) -> Any:
    """The sum of the cubes of the eigenvalues, and its gradient."""
    values, vectors = np.linalg.eigh(x)
    return np.sum(values**3), (vectors * (3 * values**2)) @ vectors.T


def eigh_by_hand(x: np.ndarray[Any, Any]) -> Any:
    """The sum of fourth powers of the last eigenvector, and its gradient as a symmetric matrix."""
    values, vectors = np.linalg.eigh(x)
    last = vectors[:, -1]
    weights = vectors[:, :-1].T @ (4 * last**3) / (values[-1] - values[:-1])
    found = np.outer(vectors[:, :-1] @ weights, last)
    return np.sum(last**4), (found + found.T) / 2


def spectrum_row(name: str, function: Callable[..., Any], by_hand: Callable[[Any], Any]) -> Row:
    """A function of the spectrum of a symmetric matrix of 100 rows."""
    x = positive(100)

    def symmetric(xp: Any, x: Any) -> Any:
        return function(xp, (x + x.T) / 2)

    return _with_lapack(f"linear_algebra {name}", "100 x 100", symmetric, (x,), partial(by_hand, x))


def _with_lapack(name: str, size: str, function: Any, args: Any, by_hand: Call) -> Row:
    return function_row(name, size, function, args, peers={"LAPACK by hand": lambda _: by_hand}, tolerance=1e-6)


def minors(matrices: Any) -> Any:
    """Return the elements of matrices of 4 x 4, the minors of the first two rows, of the last two, the determinants."""
    flat = np.moveaxis(matrices.reshape(-1, 16), 1, 0)
    a = [[flat[4 * i + j] for j in range(4)] for i in range(4)]
    s = [a[0][i] * a[1][j] - a[0][j] * a[1][i] for i, j in PAIRS]
    c = [a[2][i] * a[3][j] - a[2][j] * a[3][i] for i, j in PAIRS]
    return a, s, c, s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0]


def inverse_by_minors(matrices: Any) -> Any:
    """Return the inverses of matrices of 4 x 4."""
    a, s, c, determinant = minors(matrices)
    others = {
        0: ((1, 5), (2, 4), (3, 3)), 1: ((0, 5), (2, 2), (3, 1)), 2: ((0, 4), (1, 2), (3, 0)),
        3: ((0, 3), (1, 1), (2, 0)),
    }  # fmt: skip
    found = []
    for i in range(4):
        for row, m in ((1, c), (0, c), (3, s), (2, s)):
            terms = [a[row][j] * m[k] for j, k in others[i]]
            found.append((-1) ** (i + row + 1) * (terms[0] - terms[1] + terms[2]))
    return np.moveaxis(np.stack(found) / determinant, 0, 1).reshape(-1, 4, 4)


def batch_row(which: str) -> Row:
    """Determinants or inverses of 10,000 matrices of 4 x 4."""
    random = np.random.default_rng(0)
    a, b = random.standard_normal((10_000, 4, 4)), random.standard_normal((10_000, 4, 4))
    a = a @ a.transpose(0, 2, 1) + np.eye(4)

    def function(xp: Any, a: Any, b: Any) -> Any:
        if which == "inv":
            return xp.sum(xp.linalg.inv(a) * b)
        return xp.sum(xp.log(xp.linalg.det(a)) * b[:, 0, 0])

    def by_minors(_: Any, a: Any, b: Any) -> Any:
        if which == "inv":
            return np.sum(inverse_by_minors(a) * b)
        return np.sum(np.log(minors(a)[3]) * b[:, 0, 0])

    def by_hand() -> Any:
        inverse = np.linalg.inv(a)
        turned = inverse.transpose(0, 2, 1)
        if which == "inv":
            return np.sum(inverse * b), -turned @ b @ turned
        weights = b[:, 0, 0]
        return np.sum(np.log(np.linalg.det(a)) * weights), turned * weights[:, None, None]

    peers = {
        "by minors": lambda threads: gradient(by_minors, (a, b), (0,))(threads).call,
        "LAPACK by hand": lambda _: by_hand,
    }
    return function_row(
        f"linear_algebra {which} of 4 x 4", "10,000 of 4 x 4", function, (a, b), peers=peers, tolerance=1e-6
    )


def by_blocks(factor: Any, right: Any) -> Any:
    """Solve a lower triangular system by the inverses of its diagonal blocks, all taken at once."""
    n, b = factor.shape[0], BLOCK
    k = n // b
    blocks = np.stack([factor[i * b : (i + 1) * b, i * b : (i + 1) * b] for i in range(k)])
    diagonal = blocks[:, np.arange(b), np.arange(b)]
    power = -np.tril(blocks, -1) / diagonal[:, :, None]
    inverse = np.eye(b) + power
    for _ in range(4):
        power = power @ power
        inverse = (np.eye(b) + power) @ inverse
    inverse = inverse / diagonal[:, None, :]
    found: list[Any] = []
    for i in range(k):
        rest = right[i * b : (i + 1) * b]
        if i:
            rest = rest - factor[i * b : (i + 1) * b, : i * b] @ np.concatenate(found)
        found.append(inverse[i] @ rest)
    return np.concatenate(found)


def triangular_row(columns: int) -> Row:
    """The solution of a triangular system of 500 rows, without a gradient."""
    factor = np.linalg.cholesky(positive(500))
    right = np.random.default_rng(1).standard_normal((500, columns))

    def solve(factor: Any, right: Any) -> Any:
        return scipy.linalg.solve_triangular(factor, right, lower=True)

    peers: Peers = {
        "SciPy": lambda _: partial(solve, factor, right),
        "by blocks": lambda threads: value(by_blocks, factor, right)(threads).call,
    }
    size = f"500 x 500, {columns} right"
    return Row(f"linear_algebra triangular {columns}", "float64", size, value(solve, factor, right), peers, 1e-8)


def value(function: Callable[..., Any], *args: Any) -> Callable[[int], Ours]:
    """Return our value of a function without a gradient."""

    def ours(threads: int) -> Ours:
        import primsplit as ps

        return program_call(ps.trace(function, *args), args, threads)

    return ours


def toeplitz_row() -> Row:
    """The solution of a known Toeplitz system of 2,000 rows, without a gradient."""
    column = 1.0 / (1.0 + np.arange(2000.0)) ** 1.5
    column[0] = 4.0

    def solve(right: Any) -> Any:
        return scipy.linalg.solve_toeplitz(column, right)

    return _known_row("toeplitz", 2000, solve)


def sparse_row() -> Row:
    """The solution of a known sparse system of 900 rows of no shape, without a gradient."""
    known = scipy.sparse.random(900, 900, 4 / 900, random_state=0, format="csc") + 3 * scipy.sparse.eye(900)

    def solve(right: Any) -> Any:
        return scipy.sparse.linalg.spsolve(known.tocsc(), right)

    return _known_row("spsolve", 900, solve)


def _known_row(name: str, rows: int, solve: Callable[[Any], Any]) -> Row:
    right = np.random.default_rng(1).standard_normal(rows)
    peers: Peers = {"SciPy": lambda _: partial(solve, right)}
    return Row(f"linear_algebra {name}", "float64", f"{rows:,} rows", value(solve, right), peers, 1e-8)
