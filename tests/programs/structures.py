"""Programs with structure: nested parameters, closures, transforms inside, rules of their own, numbers of Python."""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import primsplit as ps
from primsplit import numpy as np
from tests.programs.table import Table, integers, uniform

PROGRAMS = Table()
program = PROGRAMS.program


class Moments(NamedTuple):
    first: Any
    second: Any


@dataclass
class Layer:
    weight: Any
    bias: Any
    activation: str = "tanh"

    def __call__(self, x):
        return getattr(np, self.activation)(x @ self.weight + self.bias)


@program({"w": uniform(3, 4), "b": uniform(4)}, (5, 3))
def dictionary_of_parameters(params, x):
    return np.tanh(x @ params["w"] + params["b"]).sum(axis=0)


@program([(uniform(3, 4), uniform(4)), (uniform(4, 2, seed=2), uniform(2))], (5, 3))
def list_of_layers(layers, x):
    for w, b in layers[:-1]:
        x = np.tanh(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


@program(Layer(uniform(3, 2), uniform(2)), (4, 3))
def dataclass_layer(layer, x):
    return layer(x) ** 2


@program(Moments(uniform(3), uniform(3, seed=2)), (3,))
def named_tuple_in_and_out(state, g):
    first = 0.9 * state.first + 0.1 * g
    second = 0.99 * state.second + 0.01 * g**2
    return Moments(first, second), {"step": first / (np.sqrt(second) + 1e-8)}


@program((3,), None, "sum")
def static_arguments(x, nothing, reduction):
    assert nothing is None
    return getattr(np, reduction)(np.exp(x))


@program((4,), 3)
def static_number_of_steps(x, steps):
    for i in range(steps):
        x = np.sin(x) + i
    return x


@program((4,), True)
def static_flag(x, flag):
    return x**2 if flag else x**3


@program((3,))
def gradient_inside(x):
    """A step of gradient descent on a function that is defined inside and reads `x`."""
    target = x * 2

    def loss(w):
        return np.sum((np.sin(w) - target) ** 2)

    return x - 0.1 * ps.grad(loss)(x)


@program(0.7, order=1)
def third_derivative(x):
    def f(y):
        return np.sin(y) * np.exp(0.5 * y) + y**4

    return ps.grad(ps.grad(ps.grad(f)))(x)


@program((3,), (3,), order=1)
def hessian_times_vector(x, v):
    def energy(y):
        return np.sum(np.sin(y) * np.roll(y, 1) ** 2) + np.prod(y)

    return ps.grad(lambda y: np.vdot(ps.grad(energy)(y), v))(x)


@program((3,), order=1, single=False, symbolic=False)
def jacobian_row_by_row(x):
    def f(y):
        return np.stack([y[0] * y[1], np.sin(y[2]), y @ y])

    _, pullback = ps.vjp(f, x)
    rows = [pullback(np.asarray([1.0 if i == j else 0.0 for j in range(3)]))[0] for i in range(3)]
    return np.stack(rows)


@program((2,), (2,), order=1, single=False, symbolic=False)
def lagrangian_acceleration(q, v):
    """The acceleration of a particle in a central potential, from its Lagrangian by Euler and Lagrange."""

    def lagrangian(q, v):
        return 0.5 * (v[0] ** 2 + q[0] ** 2 * v[1] ** 2) + np.cos(q[0]) - 0.1 * np.sin(q[1])

    momentum = ps.grad(lagrangian, wrt=1)
    force = ps.grad(lagrangian)(q, v)

    def along(i):
        return ps.grad(lambda a, b: momentum(a, b)[i], wrt=(0, 1))(q, v)

    rows = [along(0), along(1)]
    mass = np.stack([r[1] for r in rows])
    coriolis = np.stack([r[0] for r in rows]) @ v
    return np.linalg.solve(mass + 0.1 * np.eye(2), force - coriolis)


@ps.primitive
def clipped_square(x):
    return np.where(np.abs(x) < 10, x**2, 0.0)


@ps.rrule(clipped_square)
def clipped_square_rule(x):
    return clipped_square(x), lambda dy: (2 * x * dy,)


@program((4,))
def primitive_with_rule(x):
    return clipped_square(np.sin(x)) * clipped_square(x)


@functools.partial(ps.primitive, name="scaled_difference")
def scaled_difference(pair, *, scale):
    return {"d": scale * (pair["a"] - pair["b"]), "m": pair["a"] * pair["b"]}


@program((4,), (4,))
def primitive_without_rule(a, b):
    found = scaled_difference({"a": a, "b": b}, scale=3.0)
    return found["d"] * found["m"]


def _scale() -> float:
    return 1.5


@program((4,))
def closure_and_global(x):
    factor = _scale()

    def inner(y, power=2):
        return factor * y**power

    return sum(map(inner, (x, x[::-1]))) + math.pi


@program((4,), 0.5, 2)
def python_numbers(x, a, n):
    b = a * 2 + 1
    b -= 0.5
    return x * b**n + n / 3 + (a > 0) * 1.0 + n // 2 + -a


@program((4,), np.float64(0.5))
def numpy_number(x, a):
    b = a
    b += 1.0
    return a * x + b


@program(integers(4, high=5), (4,))
def integers_beside_floats(i, x):
    return i * x + i**2 + i / 2 + np.mean(i) - i % 3 + np.exp(i) * 0.01


@program((3,), (3,))
def same_array_twice(x, y):
    def f(a, b):
        return a * b + a

    return f(x, x) + f(x, y)


@program((3,), (3,))
def arguments_returned(x, y):
    return x, y + 0, (x, {"sum": x + y}), 2.0


@program((4,), (4,))
def one_argument_unused(x, y):
    return np.cos(x)


@program((3, 3), order=1, symbolic=False)
def gradient_of_a_determinant(A):
    return ps.grad(lambda B: np.log(np.abs(np.linalg.det(B))))(A + 3 * np.eye(A.shape[0]))


@program((4,), order=1)
def value_and_grad_with_aux(x):
    def loss(w):
        residual = np.tanh(w) - 0.1
        return np.sum(residual**2), residual

    (value, residual), gradient = ps.value_and_grad(loss, has_aux=True)(x)
    return value * gradient + residual


@program((3,), order=1, symbolic=False)
def implicit_step(x):
    """A Newton step on the gradient, its Jacobian by rows."""

    def energy(y):
        return np.sum(np.cosh(y)) + 0.5 * y[0] * y[1]

    gradient = ps.grad(energy)
    rows = [ps.grad(lambda y, i=i: gradient(y)[i])(x) for i in range(3)]
    return x - np.linalg.solve(np.stack(rows), gradient(x))
