"""Random functions full of branches, written as text as a user would: the joined program does what Python does."""

import linecache
import random

import numpy as np
import pytest

import primsplit as ps

EXPRESSIONS = (
    "{p} * {q}",
    "{p} + {q}",
    "np.tanh({p} * {q})",
    "{p} - 0.5 * {q}",
    "np.exp(-{p} * {p})",
    "{p} @ M",
    "np.where({p} > {q}, {p}, {q})",
    "{p} * {p}.sum()",
    "np.cumsum({p})",
    "{p}[::-1]",
    "{p} * number",
    "np.clip({p}, -number, number)",
    "np.stack([{p}, {q}])[index]",
    "{p} * flag",
    "np.concatenate([{p}[1:], {q}[:1]])",
)
BRANCHING = ("shared({p}, {q})", "({p} if {p}[0] > 0.1 else {q})")
CONDITIONS = ("{p}[0] > 0", "{p}.sum() < 0.3", "np.any({p} > 0.8)", "{p}[1] > {q}[2]", "{p}[2] * {q}[3] > 0.02")
STATE = ("number = number * 0.9", "number = 2.0", "index = 1 - index", "flag = not flag", "{p}[1:] *= 0.5")
HEAD = """
def shared(p, q):
    if p[1] > q[0]:
        return p * 0.3 + q
    return q * p

def function(x):
    a, b, c = x * 1.0, np.cos(x), x + 0.1
    number, index, flag = 1.1, 0, True
"""


class Writer:
    """Writes the body of a function with at most `branches` branches on a path."""

    def __init__(self, seed: int, branches: int) -> None:
        self.random = random.Random(seed)
        self.branches = branches

    def filled(self, text: str) -> str:
        return text.format(p=self.random.choice("abc"), q=self.random.choice("abc"))

    def statements(self, depth: int, indent: str) -> list[str]:
        lines = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.45 and depth and self.branches:
                self.branches -= 1
                lines.append(f"{indent}if {self.filled(self.random.choice(CONDITIONS))}:")
                lines += self.statements(depth - 1, indent + "    ")
                if self.random.random() < 0.8:
                    lines += [f"{indent}else:", *self.statements(depth - 1, indent + "    ")]
            elif kind < 0.65:
                lines.append(indent + self.filled(self.random.choice(STATE)))
            else:
                choices = EXPRESSIONS + BRANCHING if self.branches else EXPRESSIONS
                expression = self.random.choice(choices)
                self.branches -= expression in BRANCHING
                lines.append(f"{indent}{self.random.choice('abc')} = {self.filled(expression)}")
        return lines


def written(seed: int):
    """A function of a vector of four, whose source is known as that of a file would be."""
    writer = Writer(seed, branches=5)
    body = [line for _ in range(3) for line in writer.statements(2, "    ")]
    source = HEAD + "\n".join(body) + "\n    return (a * 0.3 + b * 0.2 + c).sum()\n"
    name = f"<branches {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    found = {"np": np, "M": np.random.default_rng(1).normal(size=(4, 4)) * 0.5}
    exec(compile(source, name, "exec"), found)
    return found["function"], source


def check(seed: int, *, gradient: bool) -> None:
    function, source = written(seed)
    draws = np.random.default_rng(seed).normal(size=(8, 4)) * 0.8
    joint = ps.split(function, draws[0]).joint()
    for x in draws:
        value, slope = joint(x)
        np.testing.assert_allclose(value, function(x.copy()), rtol=1e-10, atol=1e-10, err_msg=source)
        if gradient and not near_a_kink(function, x):
            step = np.full(4, 1e-6)
            measured = (function(x + step) - function(x - step)) / 2e-6
            np.testing.assert_allclose(slope.sum(), measured, rtol=1e-4, atol=1e-6, err_msg=source)


def near_a_kink(function, x) -> bool:
    """Whether the two one-sided differences differ, so that no derivative is measured."""
    step = np.full(4, 1e-6)
    ahead, behind = function(x + step) - function(x.copy()), function(x.copy()) - function(x - step)
    return abs(ahead - behind) > 1e-3 * (abs(ahead) + abs(behind)) + 1e-9


@pytest.mark.sweep(4)
@pytest.mark.parametrize("seed", range(40))
def test_a_random_function_of_branches_does_what_python_does(seed) -> None:
    check(seed, gradient=seed % 4 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 600))
def test_many_random_functions_of_branches(seed) -> None:
    check(seed, gradient=True)
