"""Prove that the pullback of a file is linear in its cotangents, and confirm it with numbers.

```
d_x = Mul(d_y, y)      linear       1 node checked
d_x = Mul(d_y, d_y)    not linear   Mul, rules.py:12
```

The proof reads the nodes between the cotangents and each gradient: `tracing.calls.linearity`. A file that is seeded has
the number 1 in the place of the cotangent. Of such a file the backward section is read: from its first value on that
the gradient is linear in.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.audit.sections import BACKWARD, TANGENT
from primsplit.audit.whole import Whole, whole
from primsplit.audit.written import Written
from primsplit.ir import AnyArray, live_ops
from primsplit.tracing.calls.linearity import Linearity, linearity

Run = Callable[[Mapping[str, AnyArray]], Mapping[str, AnyArray]]
"""Runs a file: from arrays by input to arrays by output."""
COTANGENT, TANGENT_OF = "d_", "t_"
MOST_TRIED = 64
"""The most values of a backward section that are tried as the one that the gradient is linear in."""


def linear_rows(files: Sequence[Written]) -> list[dict[str, Any]]:
    """Return a row for each derivative that the files of one program write: whether it is linear, and in what.

    `verdict` is linear, zero, independent, not linear, not proven, or seeded. `checked` counts the nodes that were read
    for it. For what is not linear, `why` names the first node that breaks it, and the row has the user's line.
    """
    return [row for file in files for row in _of_file(whole(file), files)]


def disprove(rows: Sequence[dict[str, Any]], deviations: Mapping[str, float], unit: float) -> None:
    """Say `not linear` in rows without a proof that deviate from it at random cotangents; NaN shows nothing."""
    for row in rows:
        if row["verdict"] == "not proven" and deviations.get(row["output"], 0.0) >= 10 * unit**0.5:
            row["verdict"] = "not linear"


def seeds_of(file: Written, files: Sequence[Written]) -> tuple[list[str], list[str]]:
    """Return the inputs that are cotangents and those that are tangents, by the names of all inputs and outputs."""
    kept = _kept(files)
    outputs = {name for each in files for name in each.outputs}
    inputs = {name for each in files for name in each.inputs} - kept
    found = {n for n in file.inputs if n[:2] == COTANGENT and (n[2:] in outputs or _is_backward(file))}
    pushed = {n for n in file.inputs if n[:2] == TANGENT_OF and n[2:] in inputs and n not in kept}
    return [n for n in file.inputs if n in found], [n for n in file.inputs if n in pushed]


def _kept(files: Sequence[Written]) -> set[str]:
    """Return the values that the first of two files keeps for the second; not a result that has a derivative there."""
    first, second = files[0], files[-1]
    handed = {*first.outputs} & {*second.inputs} if len(files) > 1 else set()
    return {n for n in handed if f"{COTANGENT}{n}" not in second.inputs and f"{TANGENT_OF}{n}" not in second.outputs}


def _is_backward(file: Written) -> bool:
    """Whether a file holds a backward pass alone, whose results are cotangents like its inputs."""
    return all(name.startswith(COTANGENT) for name in file.outputs)


def _of_file(graph: Whole, files: Sequence[Written]) -> Iterator[dict[str, Any]]:
    cotangents, tangents = seeds_of(graph.file, files)
    kept = _kept(files)
    for name in graph.file.outputs:
        if name in kept:
            continue
        is_tangent = name[:2] == TANGENT_OF and bool(tangents)
        if not is_tangent and not (name[:2] == COTANGENT and _is_derivative(name, files)):
            continue
        seeds = tangents if is_tangent else cotangents
        row = _row(graph, name, seeds) if seeds else _seeded(graph, name)
        yield {"output": name, "file": graph.file.path, **row}


def _is_derivative(name: str, files: Sequence[Written]) -> bool:
    own = {n for file in files for n in file.inputs} - _kept(files)
    return name.removeprefix(COTANGENT) in own or _is_backward(files[-1])


def _row(graph: Whole, name: str, seeds: Sequence[str]) -> dict[str, Any]:
    """Return the row of a derivative of a file with cotangents or tangents among its inputs."""
    result = graph.result(name)
    found = linearity(live_ops(graph.block.ops, [result]), [*map(graph.param, seeds)], result)
    return {"verdict": found.verdict, "in": list(seeds), **_proof(graph, found), "why": _why(graph, found)}


def _proof(graph: Whole, found: Linearity) -> dict[str, Any]:
    return {"checked": len(found.checked), "tests": len(found.tests), **graph.about(found.broken)}


def _why(graph: Whole, found: Linearity) -> str:
    """Return what the verdict rests on, "" if it holds without a condition."""
    if not found.tests:
        return found.why
    tested = [graph.names[v] for op in found.tests for v in op.inputs[:1] if v is not None]
    return f"for cotangents with which none of {', '.join(tested)} is 0 by chance"


def _seeded(graph: Whole, name: str) -> dict[str, Any]:
    """Return the row of a gradient whose cotangent is a number in the file."""
    result = graph.result(name)
    ops = live_ops(graph.block.ops, [result])
    own = {op for s in graph.file.sections if s.name in {BACKWARD, TANGENT} for op in s.ops}
    values = [(i, v) for i, op in enumerate(ops) if op in own for v in op.outputs if v.type.is_float]
    first = None
    for i, value in values[:MOST_TRIED]:
        found = linearity(ops[i + 1 :], [value], result)
        first = first or found
        if found.verdict == "linear" and value is not result:
            why = f"the cotangent is the number 1; linear in {graph.names[value]}, a value of the backward section"
            return {"verdict": "seeded", "in": [graph.names[value]], **_proof(graph, found), "why": why}
    proof = _proof(graph, Linearity("not linear", ()) if first is None else first)
    why = "the cotangent is the number 1; no value of the backward section is known that this is linear in"
    return {"verdict": "seeded", "in": [], **proof, "why": why}


# By numbers.


def confirm(run: Run, arrays: Mapping[str, AnyArray], seeds: Sequence[str], random: int = 0) -> dict[str, float]:
    """Return how far each derivative is from linear, at random cotangents: the largest difference, relative.

    The derivatives of `1.75 a - 0.625 b` are compared with `1.75` times those of a and `0.625` times those of b.
    """
    if not seeds:
        return {}
    draw = np.random.default_rng(random)
    first, second = (_drawn(arrays, seeds, draw) for _ in range(2))
    mixed = {n: (1.75 * first[n] - 0.625 * second[n]).astype(first[n].dtype) for n in seeds}
    one, two, both = (run({**arrays, **each}) for each in (first, second, mixed))
    kinds = {n[:2] for n in seeds}
    derivatives = [n for n in both if n[:2] in kinds and n[:2] in {COTANGENT, TANGENT_OF}]
    return {n: _distance(both[n], 1.75 * _wide(one[n]) - 0.625 * _wide(two[n])) for n in derivatives}


def dot_product(
    run: Run, arrays: Mapping[str, AnyArray], cotangents: Sequence[str], random: int = 0
) -> dict[str, Any] | None:
    """Return both sides of <w, J v> = <J' w, v>: by differences of the outputs, and by the gradients in the file.

    Without cotangents w is 1 for the only output that is one number. `agree` tells whether the sides are equal, as far
    as differences tell; if not, `inputs` has the sides for each input alone. For outputs or gradients that are not
    finite there is `why` alone. None where the file lacks an output or a gradient for it.
    """
    draw = np.random.default_rng(random)
    given = {**arrays, **_drawn(arrays, cotangents, draw)}
    found = run(given)
    names = [n for n in arrays if f"{COTANGENT}{n}" in found]
    weights = {n.removeprefix(COTANGENT): _wide(given[n]) for n in cotangents} or _of_scalar(found, arrays)
    if not names or not weights or not all(n in found for n in weights):
        return None
    if odd := [n for n in (*weights, *(f"{COTANGENT}{n}" for n in names)) if not np.isfinite(_wide(found[n])).all()]:
        return {"why": f"{', '.join(odd)} {'is' if len(odd) == 1 else 'are'} not finite"}
    moves = {n: _wide(draw.standard_normal(arrays[n].shape)) for n in names}
    sides = _Sides(run, given, found, weights, moves)
    answer = sides.along(names)
    if not answer["agree"] and len(names) > 1:
        answer["inputs"] = [{"name": n, **sides.along([n])} for n in names]
    return answer


@dataclass(frozen=True, slots=True)
class _Sides:
    """Computes both sides of the dot product: `found` are the results at the arrays that are given."""

    run: Run
    given: Mapping[str, AnyArray]
    found: Mapping[str, AnyArray]
    weights: Mapping[str, AnyArray]
    moves: Mapping[str, AnyArray]

    def along(self, names: Sequence[str]) -> dict[str, Any]:
        """Return both sides where these inputs move, and whether they agree as far as differences tell.

        A shorter step is tried where they do not. They are `kinked` if the slopes of the outputs to both sides are
        others, and that by the gradients is between them.
        """
        unit = float(max(np.finfo(self.given[n].dtype).eps for n in names))
        parts = [_wide(self.found[f"{COTANGENT}{n}"]) * self.moves[n] for n in names]
        backward = sum(float(np.sum(part)) for part in parts)
        size = sum(float(np.sum(np.abs(part))) for part in parts)
        first = None
        for step in (unit ** (1 / 3), unit ** (1 / 3) / 64):
            behind, ahead = (self.slope(names, sign * step) for sign in (-1.0, 1.0))
            forward = (behind + ahead) / 2
            reach = 10 * unit**0.5 * max(size, abs(forward))
            agree = bool(min(behind, ahead) - reach <= backward <= max(behind, ahead) + reach)
            kinked = agree and not abs(forward - backward) <= reach
            answer = {"differences": forward, "gradients": backward, "agree": agree, "kinked": kinked}
            if agree:
                return answer
            first = first or answer
        assert first is not None
        return first

    def slope(self, names: Sequence[str], step: float) -> float:
        """Return the weighted difference of the outputs over a step from the given arrays to one side."""
        to = {n: (_wide(self.given[n]) + step * self.moves[n]).astype(self.given[n].dtype) for n in names}
        there = self.run({**self.given, **to})
        gaps = (float(np.sum(w * (_wide(there[n]) - _wide(self.found[n])))) for n, w in self.weights.items())
        return sum(gaps) / step


def _of_scalar(found: Mapping[str, AnyArray], arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the cotangent 1 of the only output that is one number and no gradient."""
    own = [
        n for n, a in found.items() if a.ndim == 0 and a.dtype.kind == "f" and n.removeprefix(COTANGENT) not in arrays
    ]
    return {own[0]: np.ones(())} if len(own) == 1 else {}


def _drawn(arrays: Mapping[str, AnyArray], names: Sequence[str], draw: np.random.Generator) -> dict[str, AnyArray]:
    return {n: draw.standard_normal(arrays[n].shape).astype(arrays[n].dtype) for n in names}


def _wide(array: AnyArray) -> AnyArray:
    return np.asarray(array, np.float64)


def _distance(found: AnyArray, wanted: AnyArray) -> float:
    """Return the largest difference, as a part of the largest magnitude; NaN if one of them is no number."""
    size = float(np.max(np.abs(wanted), initial=0.0))
    gap = float(np.max(np.abs(_wide(found) - wanted), initial=0.0))
    return gap / size if size else gap
