"""Nests run in the interpreter, and their derivatives beside central differences of it."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from primsplit.frontends.loops.derivation import Derivation, derive
from primsplit.frontends.loops.interpreter import interpret
from primsplit.frontends.loops.loopset import LoopSet
from primsplit.frontends.loops.sizes import check

Arrays = Mapping[str, Any]


def drawn(seed: int, *shape: int) -> Any:
    """Normal numbers."""
    return np.random.default_rng(seed).normal(size=shape)


def floats(arrays: Arrays) -> list[str]:
    """The names of the arrays that have gradients."""
    return [name for name, array in arrays.items() if np.asarray(array).dtype.kind == "f"]


def pulled_back(
    nest: LoopSet,
    arrays: Arrays,
    cotangents: Arrays,
    tracked: Collection[str],
    derivation: Derivation | None = None,
    **given: Any,
) -> dict[str, Any]:
    """The gradients by the derived nests; 0 for what nothing depends on. `given` are cotangents that are added to."""
    derivation = derivation or derive(nest, tracked)
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    sizes = check(nest, shapes, {name: int(arrays[name]) for name in nest.integers})
    forward = interpret(derivation.forward, arrays)
    known = {**arrays, **{version: forward[name] for name, version in derivation.forward.results}, **given}
    known |= {cotangent: np.asarray(cotangents[name]) for name, cotangent in derivation.cotangents}
    reverse = derivation.reverse
    found = interpret(reverse, {name: known[name] for name, _ in reverse.arguments}, sizes=sizes)
    gradients = {name: found[gradient] for name, gradient in derivation.gradients}
    return {name: gradients.get(name, np.zeros(shapes[name])) for name in tracked}


def differences(nest: LoopSet, arrays: Arrays, cotangents: Arrays, wrt: str, step: float = 1e-6) -> Any:
    """The gradient of the results times their cotangents by central differences."""

    def value(array: Any) -> float:
        results = interpret(nest, {**arrays, wrt: array})
        return sum(float(np.sum(results[name] * cotangents[name])) for name in cotangents)

    start = np.asarray(arrays[wrt], np.float64)
    gradient = np.zeros_like(start)
    for place in np.ndindex(start.shape):
        move = np.zeros_like(start)
        move[place] = step
        gradient[place] = (value(start + move) - value(start - move)) / (2 * step)
    return gradient


def assert_gradients_meet_differences(nest: LoopSet, arrays: Arrays, **options: Any) -> Derivation:
    """Compare the gradients of all float arrays, for a random cotangent of each result."""
    tracked = floats(arrays)
    results = interpret(nest, arrays)
    cotangents = {name: drawn(7 + len(name), *array.shape) for name, array in results.items()}
    derivation = derive(nest, tracked, **options)
    gradients = pulled_back(nest, arrays, cotangents, tracked, derivation)
    for name in tracked:
        expected = differences(nest, arrays, cotangents, name)
        np.testing.assert_allclose(gradients[name], expected, rtol=1e-6, atol=1e-7, err_msg=name)
    return derivation
