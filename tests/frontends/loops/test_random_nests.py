"""Random nests of one to three factors: onnxruntime beside the interpreter, values and gradients."""

import random

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.loops.interpreter import interpret
from primsplit.ir.errors import IndexingError, ParseError, ShapeError
from tests.frontends.loops.running import pulled_back

LENGTHS = {"i": 3, "j": 2, "k": 4, "l": 3}
LENGTH = 14


class Writer:
    """Writes nests; `seed` makes them the same again."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def index(self, loops: list[str]) -> str:
        """One index: most are a loop alone."""
        one, other = self.random.choice(loops), self.random.choice(loops)
        forms = ["{a}"] * 6 + [
            "{a}+2",
            "2*{a}",
            "mod({a}+1)",
            "clamp({a}-1)",
            "pad({a}-1, 2.0)",
            "pad({a}-1)",
            "p[{a}]",
        ]
        forms += ["{a}+{b}", "{a}+2*{b}", "{a}-{b}+5"] if one != other else []
        return self.random.choice(forms).format(a=one, b=other)

    def factor(self, name: str, loops: list[str]) -> str:
        """An element of an array, or a function of it."""
        element = f"{name}[{', '.join(self.index(loops) for _ in range(self.random.choice([1, 1, 2, 2, 3])))}]"
        form = self.random.choice(["{}"] * 5 + ["sin({})", "({} + 1.0)", "-{}", "{} / 3"])
        return form.format(element)

    def nest(self) -> str:
        """A statement, with the ranges of its loops."""
        choose = self.random.choice
        loops = self.random.sample(list(LENGTHS), choose([1, 2, 2, 3, 3, 4]))
        names = "ABC"[: choose([1, 2, 2, 3])]
        body = choose([" * ", " * ", " * ", " + "]).join(self.factor(name, loops) for name in names)
        body = choose(["{}"] * 5 + ["({a} <= {b})*({})", "({}) if {a} < {b} else 0"]).format(
            body, a=loops[0], b=loops[-1]
        )
        kept = self.random.sample(loops, self.random.randint(0, len(loops)))
        left = f"y[{', '.join(kept)}]" if kept else "y"
        form = choose(["{} := {}"] * 6 + ["(max) {} := {}", "(*) {} := {}", "{} = {}", "{} += {}"])
        if form == "{} += {}" and kept:
            left = f"y[{', '.join(self.index(loops) for _ in kept)}]"
        ranges = ", ".join(f"{loop} in range({LENGTHS[loop]})" for loop in loops)
        return form.format(left, body) + f", {ranges}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_a_random_nest_has_the_value_and_the_gradients_of_its_loops(seed: int) -> None:
    text = Writer(seed).nest()
    numbers = np.random.default_rng(seed)
    try:
        nest = ps.loops(text)
        ranks = dict(nest.loopset.arguments)
        arrays = {
            name: numbers.integers(0, 3, 6) if name == "p" else numbers.normal(size=(LENGTH,) * ranks[name])
            for name in nest.names
        }
        found = nest(**arrays)
    except (ParseError, ShapeError, IndexingError) as error:
        pytest.skip(f"{text}: {error.what}")
    (expected,) = interpret(nest.loopset, arrays).values()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=text)
    floats = [name for name in nest.names if name != "p"]
    seeds = numbers.normal(size=expected.shape)
    positions = tuple(nest.names.index(name) for name in floats)
    gradients = ps.grad(lambda *values: np.sum(nest(*values) * seeds), positions)(*arrays.values())
    pulled = pulled_back(nest.loopset, arrays, {"y": seeds}, floats)
    for name, gradient in zip(floats, gradients, strict=True):
        np.testing.assert_allclose(gradient, pulled[name], rtol=1e-7, atol=1e-9, err_msg=f"{text}, {name}")
