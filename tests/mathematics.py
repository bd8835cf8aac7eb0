"""Run what a listing shows as mathematics: its statements as Python, with functions of NumPy under the shown names."""

import ast
import builtins
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime as ort
from scipy import linalg, special

from primsplit.audit.helpers.source import helpers
from primsplit.audit.math_style import mathematics_of
from primsplit.audit.mathematics.operators import mathematical
from primsplit.audit.mathematics.printing import Printer
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import renamed
from primsplit.audit.mathematics.special import FUNCTIONS
from primsplit.audit.statement_maker import statements_of
from primsplit.audit.written import Written, read_written
from primsplit.cli.options import Exported
from primsplit.tracing import trees

Arrays = Sequence[np.ndarray[Any, Any]]


def results_of(path: str, inputs: Arrays) -> list[Any]:
    """Return the results that the statements of a file compute from its inputs."""
    file = read_written(path)
    (made,) = mathematics_of(file)
    space = functions()
    owns = (*made.function.names.values(), *_targets(made.lines))
    names = {own: f"v_{made.naming.of.get(own, own)}" for own in owns}
    for param, array in zip(file.block.params, inputs, strict=True):
        space[names[made.function.names[param]]] = array
        for size, length in zip(param.type.shape or (), np.shape(array), strict=True):
            if str(size).isidentifier():
                space[str(size)] = length
    held = statements_of(file, build=mathematical).constants
    names.update((n, f"v_{made.naming.of.get(n, n)}") for n in held)
    space.update((names[n], const.numpy()) for n, const in held.items())
    with np.errstate(all="ignore"):
        exec("\n".join(code(made.lines, Printer(names, {}), 0)), space)
    return [eval(ast.unparse(renamed(result, names)), space) for result in made.function.results]


def inputs_of(made: Exported, path: str) -> Arrays:
    """The inputs of a file: its example, the states' first values, random numbers for cotangents and tangents."""
    file, program, random = read_written(path), made.recorded, np.random.default_rng(0)
    given = dict(zip(program.given_names, trees.flatten(made.arguments.values)[0], strict=True))
    given.update((c.input, c.declared.now) for c in program.states)
    sizes: dict[str, int] = {}
    inputs = []
    for name, param in zip(file.inputs, file.block.params, strict=True):
        shape = [size if isinstance(size, int) else sizes.get(str(size), 0) for size in param.type.shape or ()]
        like = given.get(name, given.get(name[2:], np.zeros(shape)))
        array = np.asarray(like if name in given else random.standard_normal(np.shape(like)), param.type.dtype)
        sizes.update(zip(map(str, param.type.shape or ()), array.shape, strict=True))
        inputs.append(array)
    return inputs


def code(lines: Sequence[Shown], printer: Printer, depth: int) -> Iterator[str]:
    """Yield statements as Python; the values of all steps of a loop are collected, then stacked."""
    pad = "    " * depth
    for line in lines:
        parts = [target for inner in line.below for target in inner.targets if "[" in target]
        stacked = [printer.target(part.partition("[")[0]) for part in parts]
        yield from (f"{pad}{name} = {{}}" for name in stacked)
        yield pad + printer.text(line)
        if line.head and not line.head.endswith("break"):
            yield from code(line.below, printer, depth + 1)
            yield f"{pad}    pass"
        yield from (f"{pad}{name} = stacked({name})" for name in stacked)


def _targets(lines: Sequence[Shown]) -> Iterator[str]:
    for line in (line for top in lines for line in top.walk()):
        yield from (target.partition("[")[0] for target in line.targets)


def functions() -> dict[str, Any]:
    """The functions that listings name: those of NumPy, and others by their usual names."""
    own = helpers()
    found: dict[str, Any] = {name: getattr(np, name) for name in dir(np)}
    found.update((name.removeprefix("_"), value) for name, value in own.items() if name != "_split")
    found.update(
        softmax=special.softmax,
        log_softmax=special.log_softmax,
        normalized=_normalized,
        **{name: getattr(special, name) for name in FUNCTIONS},
        sigmoid=special.expit,
        relu=lambda x: np.maximum(x, 0),
        stacked=lambda items: np.stack([items[i] for i in sorted(items)]) if items else np.zeros(0),
        count=itertools.count,
        scatter_add=lambda a, i, u, axis=None: _scatter_add(own, a, i, u, axis),
        last_argmax=lambda a, axis: a.shape[axis] - 1 - np.argmax(np.flip(a, axis), axis=axis),
        max=lambda *a, **named: builtins.max(*a) if len(a) > 1 else np.max(*a, **named),
        min=lambda *a, **named: builtins.min(*a) if len(a) > 1 else np.min(*a, **named),
        pad=lambda a, *rest, **named: (np.pad if isinstance(rest[0], tuple) else own["_pad"])(a, *rest, **named),
        cumsum=lambda a, axis=0, dtype=None, **flags: _cumulated(own, a, axis, flags),
        split=np.split,
        norm=np.linalg.norm,
        cholesky=np.linalg.cholesky,
        inv=np.linalg.inv,
        solve=np.linalg.solve,
        solve_triangular=linalg.solve_triangular,
        attention=_attention,
        **{
            name: _with_windows(own[f"_{name}"])
            for name in ("conv", "conv_transpose", "conv_kernel_grad", "max_pool_grad", "average_pool")
        },
        max_pool=lambda *a, **named: _with_windows(own["_max_pool"])(*a, **named)[0],
        max_pool_and_places=_with_windows(own["_max_pool"]),
    )
    return found


def _with_windows(function: Any) -> Any:
    """A convolution or a pool, with one number for all axes and what it does unless it is told."""

    def called(x: Any, *given: Any, **named: Any) -> Any:
        axes = x.ndim - 2
        neutral = {"strides": 1, "dilations": 1, "pads": 0} | ({"extra": 0} if "transpose" in function.__name__ else {})
        told = neutral | named
        lengths = {name: axes * (1 + (name == "pads")) for name in (*neutral, *({"kernel"} & {*named}))}
        lists = {name: [told[name]] * n for name, n in lengths.items() if isinstance(told[name], int)}
        return function(x, *given, **told | lists)

    return called


def _attention(q: Any, k: Any, v: Any, mask: Any = 0.0, scale: Any = None) -> Any:
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale) + mask
    return special.softmax(scores, axis=-1) @ v


def _normalized(x: Any, axis: int, epsilon: float) -> Any:
    apart = x - np.mean(x, axis=axis, keepdims=True)
    return apart / np.sqrt(np.mean(apart**2, axis=axis, keepdims=True) + epsilon)


def _cumulated(own: Mapping[str, Any], a: Any, axis: int, flags: Mapping[str, Any]) -> Any:
    return own["_cumulated"](np.cumsum, np.asarray(a), axis, **flags) if flags else np.cumsum(a, axis=axis)


def _scatter_add(own: Mapping[str, Any], a: Any, places: Any, updates: Any, axis: int | None) -> Any:
    if axis is None:
        return own["_scatter_nd"](a, places, updates, reduction="add")
    return own["_scatter_elements"](a, places, updates, axis=axis, reduction="add")


def assert_statements_compute(path: str, inputs: Arrays) -> None:
    """Assert that the statements give what onnxruntime gives, to the rounding of the file's dtype."""
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    wanted = session.run(None, dict(zip(names, inputs, strict=True)))
    for name, want, got in zip(session.get_outputs(), wanted, results_of(path, inputs), strict=True):
        assert np.shape(want) == np.shape(got), name.name
        tolerance = 1e-4 if want.dtype == np.float32 else 1e-9
        scale = np.max(np.abs(want), initial=1e-6) if want.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * float(scale), err_msg=name.name)


def assert_covers(file: Written) -> None:
    """Assert that each node is in one statement, or counted as shape plumbing, and none in two."""
    covered = [op for made in mathematics_of(file) for op in (*made.plumbing, *(o for s in made.every for o in s.ops))]
    # An idiom has an op of its own, which stands for nodes that are listed with it.
    nodes = {*file.ops()}
    assert len(covered) == len({*covered}) == len(nodes)
    assert {*covered} == nodes
