"""Programs of scientific computing: stencils, filters, integrators, splines, physics."""

from primsplit import numpy as np
from tests.programs.table import Table, integers, uniform

PROGRAMS = Table()
program = PROGRAMS.program


@program((9,))
def heat_step(u):
    """One explicit step of the heat equation, the ends held fixed."""
    new = u.copy()
    new[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


@program((5, 6))
def five_point_laplacian(u):
    return u[1:-1, 2:] + u[1:-1, :-2] + u[2:, 1:-1] + u[:-2, 1:-1] - 4 * u[1:-1, 1:-1]


@program((5, 6))
def periodic_laplacian(u):
    return sum(np.roll(u, s, axis=a) for s in (-1, 1) for a in (0, 1)) - 4 * u


@program((8,), 0.1)
def burgers_upwind(u, dt):
    flux = 0.5 * u**2
    left, right = flux - np.roll(flux, 1), np.roll(flux, -1) - flux
    return u - dt * np.where(u > 0, left, right)


@program((7,))
def jacobi_sweeps(f):
    u = np.zeros_like(f)
    for _ in range(4):
        padded = np.pad(u, 1)
        u = 0.5 * (padded[2:] + padded[:-2] + 0.1 * f)
    return u


@program((3,), (3, 3), (2,))
def kalman_step(x, root, z):
    """Predict and update with a constant-velocity model; the covariance comes from a root."""
    F = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]])
    H = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    P = root @ root.T + np.eye(3)
    x = F @ x
    P = F @ P @ F.T + 0.01 * np.eye(3)
    S = H @ P @ H.T + 0.1 * np.eye(2)
    K = np.linalg.solve(S, H @ P).T
    residual = z - H @ x
    P = (np.eye(3) - K @ H) @ P
    _, logdet = np.linalg.slogdet(S)
    return x + K @ residual, P, -0.5 * (residual @ np.linalg.solve(S, residual) + logdet)


@program((4,), (2,))
def runge_kutta_pendulum(state, lengths):
    """Four steps of the classical Runge-Kutta method for two uncoupled pendulums."""

    def rate(y):
        angle, speed = y[:2], y[2:]
        return np.concatenate([speed, -9.81 / (lengths**2 + 1) * np.sin(angle)])

    h = 0.05
    for _ in range(4):
        k1 = rate(state)
        k2 = rate(state + h / 2 * k1)
        k3 = rate(state + h / 2 * k2)
        k4 = rate(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@program((3,), 10.0, symbolic=False)
def lorenz_rate(state, sigma):
    x, y, z = state
    return np.array([sigma * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


@program((3,), (3,), uniform(3))
def gravitational_energy(x, y, m):
    """The potential energy of bodies in a plane, each pair counted once."""
    dx, dy = x[:, None] - x, y[:, None] - y
    r = np.sqrt(dx**2 + dy**2 + 1e-2)
    return -np.sum(np.triu(m[:, None] * m / r, k=1))


@program((4, 3))
def lennard_jones(positions):
    i, j = np.triu_indices(4, 1)
    d = positions[i] * 2 - positions[j] * 2
    inverse = 1 / (np.sum(d * d, axis=-1) + 0.5) ** 3
    return 4 * np.sum(inverse**2 - inverse)


@program(uniform(5, low=-0.9, high=3.9))
def linear_interpolation(t):
    """Piecewise linear interpolation by gather."""
    table = np.array([0.0, 1.0, 0.5, 2.0, -1.0])
    i = np.floor(np.clip(t, 0, 3.999)).astype(int)
    w = np.clip(t, 0, 3.999) - i
    return table[i] * (1 - w) + table[i + 1] * w


@program((6,), uniform(4, low=0.1, high=4.9), step=1e-3, symbolic=False)
def catmull_rom(points, t):
    i = np.floor(t).astype(np.int64)
    u = t - i
    n = len(points)
    p0, p1, p2, p3 = (points[np.clip(i + k, 0, n - 1)] for k in (-1, 0, 1, 2))
    return 0.5 * (2 * p1 + (p2 - p0) * u + (2 * p0 - 5 * p1 + 4 * p2 - p3) * u**2 + (3 * p1 - p0 - 3 * p2 + p3) * u**3)


@program((5, 2), uniform(4, low=0.0, high=1.0))
def bezier_curve(control, t):
    """De Casteljau's algorithm at several parameters."""
    points = np.broadcast_to(control[:, None], (5, t.shape[0], 2))
    t = t[:, np.newaxis]
    while len(points) > 1:
        points = points[:-1] * (1 - t) + points[1:] * t
    return points[0]


@program((4,), (3,), symbolic=False)
def rotate_by_quaternion(q, v):
    w, x, y, z = q / np.linalg.norm(q)
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return R @ v


@program((5, 3), (5, 3), symbolic=False)
def batched_cross_and_dot(a, b):
    return np.cross(a, b), np.einsum("ij,ij->i", a, b), np.linalg.norm(a - b, axis=1)


@program((3,), (3,), symbolic=False)
def rodrigues_rotation(axis, v):
    angle = np.sqrt(axis @ axis + 1e-12)
    k = axis / angle
    return v * np.cos(angle) + np.cross(k, v) * np.sin(angle) + k * np.dot(k, v) * (1 - np.cos(angle))


@program((6,), tolerance=1e-6)
def spectral_derivative(u):
    """The derivative of a periodic function by its matrix of sines and cosines."""
    n = u.shape[0]
    k = np.arange(n)
    angle = 2 * np.pi * np.outer(k, k) / n
    real, imaginary = np.cos(angle) @ u, -np.sin(angle) @ u
    power = real**2 + imaginary**2
    return power / n


@program((4, 4), symbolic=False)
def symmetric_stress(gradient):
    strain = 0.5 * (gradient + gradient.T)
    return 2.0 * strain + 1.5 * np.trace(strain) * np.eye(4)


@program((3, 3, 3), (3, 3))
def elasticity_contraction(C, e):
    C = C[..., None] + np.zeros(3)
    return 0.5 * np.einsum("ij,ijkl,kl->", e, C, e)


@program((2,), (2,), symbolic=False)
def double_pendulum_energy(angle, speed):
    """The Hamiltonian of the double pendulum: kinetic by the mass matrix, potential by heights."""
    difference = np.cos(angle[0] - angle[1])
    mass = np.array([[2.0, difference], [difference, 1.0]])
    return 0.5 * speed @ mass @ speed - 9.81 * (2 * np.cos(angle[0]) + np.cos(angle[1]))


@program((7,), uniform(7, seed=2))
def trapezoid_area(y, dx):
    x = np.cumsum(dx)
    return np.trapezoid(y, x), np.sum((y[1:] + y[:-1]) / 2 * np.diff(x))


@program((6, 7), uniform(4, 2, low=1.1, high=3.9))
def bilinear_warp(image, where):
    """An image sampled between its pixels."""
    r, c = where[:, 0], where[:, 1]
    i, j = np.floor(r).astype(int), np.floor(c).astype(int)
    a, b = r - i, c - j
    return (
        image[i, j] * (1 - a) * (1 - b)
        + image[i + 1, j] * a * (1 - b)
        + image[i, j + 1] * (1 - a) * b
        + image[i + 1, j + 1] * a * b
    )


@program((9,), np.linspace(-2, 2, 5))
def soft_histogram(x, centers):
    weights = np.exp(-0.5 * ((x[:, None] - centers[None, :]) / 0.7) ** 2)
    counts = np.sum(weights / np.sum(weights, axis=1, keepdims=True), axis=0)
    p = counts / np.sum(counts)
    return -np.sum(p * np.log(p))


@program((4, 3), (5, 3))
def squared_exponential_kernel(a, b):
    squares = np.sum(a**2, 1)[:, None] + np.sum(b**2, 1)[None, :] - 2 * a @ b.T
    return 1.5 * np.exp(-0.5 * np.maximum(squares, 0) / 0.8**2)


@program((4, 2), (4,), 0.3, tolerance=1e-5)
def gaussian_process_evidence(x, y, noise):
    d = np.sum((x[:, None] - x[None]) ** 2, -1)
    K = np.exp(-0.5 * d) + (noise**2 + 1e-3) * np.eye(y.shape[0])
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return -0.5 * y @ alpha - np.sum(np.log(np.diag(L)))


@program((4, 3), (3,))
def weighted_least_squares(A, b):
    A = np.concatenate([A, np.eye(3)])
    target = np.concatenate([b, b, b])[:7]
    return np.linalg.solve(A.T @ A, A.T @ target)


@program(np.array([0.3, -0.2, 0.5, 1.2]))
def newton_root(c):
    x = np.ones_like(c)
    for _ in range(5):
        x = x - (x**3 + x - c) / (3 * x**2 + 1)
    return x


@program((3, 4), step=3e-3)
def hermite_recurrence(x):
    """Physicists' Hermite polynomials of orders 0 to 4, stacked."""
    values = [np.ones_like(x), 2 * x]
    for n in range(1, 4):
        values.append(2 * x * values[-1] - 2 * n * values[-2])
    return np.stack(values, axis=-1)


@program((5,), (5,))
def complex_product(a, b):
    """Complex numbers as pairs of reals."""
    ar, ai, br, bi = a[:-1], a[1:], b[:-1], b[1:]
    real, imaginary = ar * br - ai * bi, ar * bi + ai * br
    return np.hypot(real, imaginary) + np.arctan2(imaginary, real + 10)


@program((3, 8), integers(8, high=3))
def segment_means(x, labels):
    """The mean of each segment, by np.add.at."""
    total, count = np.zeros((3, 3)), np.zeros(3)
    np.add.at(total, labels, x.T)
    np.add.at(count, labels, 1.0)
    return total / np.maximum(count, 1)[:, None]


@program((8,), uniform(3, low=0.2, high=0.9), symbolic=False)
def polynomial_filter(signal, taps):
    return np.convolve(signal, taps, mode="valid"), np.convolve(signal, taps), np.correlate(signal, taps, "same")


@program((6,), 0.7, symbolic=False)
def savings_recursion(income, rate):
    """A Python loop over the elements of an array."""
    wealth = 0.0
    path = []
    for amount in income:
        wealth = (1 + rate / 10) * wealth + amount
        path.append(wealth)
    return np.array(path)
