"""Prove a bound of the rounding error of each output of a file, over a box of inputs, beside the measured error.

```
y      bound 3.1e-07   measured 6.0e-08   ratio 5.2
d_x    bound 2.4e-06   measured 1.1e-07   ratio 22
```

The bound follows from running error analysis with intervals: `audit.intervals`. It holds for every input in the box
and for the file's own dtypes. Measured is the largest distance of onnxruntime's outputs from those of exact arithmetic,
at the given point and at random ones in the box; exact is float64 for a file of fewer bits, else NumPy's longdouble.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit.audit.intervals.at import Compute
from primsplit.audit.intervals.ranges import Range, interval, is_floating, of_array
from primsplit.audit.intervals.sum_errors import bounded
from primsplit.audit.intervals.walk import STEPS, Walk
from primsplit.audit.whole import Whole, whole
from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Block, Op, Value, live_ops, reads
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.dims import Size
from primsplit.ir.errors import PrimsplitError

Arrays = Mapping[str, AnyArray]
Exactly = Callable[[Block, Sequence[AnyArray], Any], Sequence[AnyArray]]
"""Evaluates a block on arrays in a dtype: `testing.reference.evaluate`."""
Run = Callable[[Arrays], Arrays]
SAMPLES = 4
"""The points at which errors are measured, beside the given one."""
AT_ONCE = "together"
"""The name of the branch with the solution of a loop for all steps at once."""
SLACK = 1 + 1e-9
"""The factor of bounds for the rounding of the analysis itself."""


def bound_rows(
    file: Written,
    arrays: Arrays,
    *,
    run: Run,
    exactly: Exactly,
    compute: Compute,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    width: float = 0.0,
) -> dict[str, Any]:
    """Return a row for each output of floating-point numbers: the bound, the measured error, and their ratio.

    The box is `ranges` for the inputs that it names, for others the array and so large a part of it on both sides.
    `run` is the file in onnxruntime. An output without a bound has the first node that has none, and its line.
    """
    graph = whole(file)
    boxes = {name: _box(array, (ranges or {}).get(name), width) for name, array in arrays.items()}
    walk = _walked(graph, arrays, boxes, compute)
    measured, why = _measured(graph, boxes, arrays, run, exactly)
    pairs = zip(file.outputs, graph.block.results, strict=True)
    rows = [_row(graph, walk, name, result, measured.get(name)) for name, result in pairs if result.type.is_float]
    return {"rows": rows, "why": why, "unknown": sorted({op.kind for op in walk.unknown})}


def _box(array: AnyArray, bounds: tuple[float, float] | None, width: float) -> tuple[AnyArray, AnyArray]:
    """Return the lowest and the highest array of a box, in the dtype of the array."""
    if not is_floating(array.dtype):
        return array, array
    if bounds is not None:
        low, high = (np.full_like(array, end) for end in bounds)
        return low, high
    reach = np.abs(array.astype(np.float64)) * width
    return (array - reach).astype(array.dtype), (array + reach).astype(array.dtype)


def _walked(graph: Whole, arrays: Arrays, boxes: Mapping[str, tuple[AnyArray, AnyArray]], compute: Compute) -> Walk:
    walk = Walk(_sizes(graph, arrays), compute, bounded)
    params = [_range(*boxes[name]) for name in graph.file.inputs]
    with np.errstate(all="ignore"):
        walk.block(graph.block, params)
    return walk


def _range(low: AnyArray, high: AnyArray) -> Range:
    if np.array_equal(low, high):
        return replace(of_array(low), error=np.zeros(()), value=low if low.dtype.kind in "iub" else None)
    return replace(interval(low, high, low.dtype, low.shape), error=np.zeros(()))


def _sizes(graph: Whole, arrays: Arrays) -> dict[str, int]:
    """Return the numbers of the symbolic sizes of inputs."""
    found: dict[str, int] = {}
    for name, param in zip(graph.file.inputs, graph.block.params, strict=True):
        for dim, size in zip(param.type.shape or (), arrays[name].shape, strict=False):
            if isinstance(dim, Size) and dim.symbol is not None:
                found[dim.symbol] = size
    return found


def _row(graph: Whole, walk: Walk, name: str, result: Value, measured: tuple[float, float] | None) -> dict[str, Any]:
    found = walk.range(result)
    bound = float(np.max(found.error, initial=0.0)) * SLACK if found.error is not None else np.inf
    error, size = (None, None) if measured is None or not np.isfinite(measured[0]) else measured
    known = np.isfinite(bound)
    ratio = None if not known or not error else bound / error
    start = None if known else _first_open(graph.block, walk, [result])
    told = {"output": name, "bound": bound if known else None, "measured": error, "ratio": ratio, "size": size}
    return {**told, **graph.about(start), "why": "" if start is None else _why(start, walk, graph.block)}


def _why(op: Op, walk: Walk, block: Block) -> str:
    """Return why an op has no bound."""
    if op in walk.unknown:
        return "the analysis does not know this operator"
    is_asked = not op.outputs[0].type.is_float or any(c.inputs[0] in op.outputs for c in _at_once(block))
    if is_asked and _decides_at_once(block, op):
        return (
            "rounding decides whether the loop in this line is solved for all steps at once, or step by step; a bound "
            "is proven for neither"
        )
    if op.kind == "Loop":
        return f"it is not certain in the whole box when it ends, or it takes more than {STEPS} steps"
    if op.kind == "Scan":
        return f"the number of its steps is not known, or more than {STEPS}"
    if op.kind == "If":
        return "rounding, or another point of the box, may take the other branch"
    if not op.outputs[0].type.is_float:
        return "rounding may change this, and what it chooses"
    steps = "".join(f" of step {turn + 1}" for turn in walk.unbound[op][-1:])
    if op in walk.hazards:
        found = ", ".join(f"{kind} {'happens' if h.always else 'can happen'}" for kind, h in walk.hazards[op].items())
        return f"at an operand{steps}, {found}"
    return f"an operand{steps} may be where the slope of this operator has no bound, such as a divisor at 0"


def _decides_at_once(block: Block, op: Op) -> bool:
    """Whether an op is behind the condition by which a file takes the solution of a loop for all steps at once."""
    asked = [v for c in _at_once(block) for v in c.inputs if v is not None]
    return any(_holds(each, op) for each in live_ops(block.ops, asked))


def _at_once(block: Block) -> list[Op]:
    """Return the Ifs that take the solution of a loop for all steps at once, or its steps."""
    return [op for op in block.ops if op.kind == "If" and op.attributes["then_branch"].name == AT_ONCE]


def _holds(op: Op, wanted: Op) -> bool:
    return op is wanted or any(_holds(inner, wanted) for block in op.blocks() for inner in block.ops)


def _first_open(block: Block, walk: Walk, results: Sequence[Value]) -> Op | None:
    """Return the first op behind results that has no bound though its inputs have one; of a branch one inside."""
    behind = live_ops(block.ops, results)
    wanted = {*results, *(v for op in behind for v in reads(op))}
    for op in behind:
        if op in walk.unbound:
            return op
        for body in op.blocks():
            found = _first_open(body, walk, _behind(op, body, [v in wanted for v in op.outputs]))
            if found is not None:
                return found
    return None


def _behind(op: Op, body: Block, wanted: list[bool]) -> list[Value]:
    """Return the results of a body that the wanted outputs of its op depend on; of a loop by any number of steps."""
    if op.kind not in {"Loop", "Scan"}:
        return [r for r, is_wanted in zip(body.results, wanted, strict=False) if is_wanted]
    lead, carries = lead_and_carries(op)
    ends = list(body.results[: lead // 2])
    while True:
        found = [*ends, *(r for r, is_wanted in zip(body.results[lead // 2 :], wanted, strict=False) if is_wanted)]
        used = {*found, *(v for inner in live_ops(body.ops, found) for v in reads(inner))}
        more = [p in used for p in body.params[lead : lead + carries]]
        more = [a or b for a, b in zip(wanted, [*more, *[False] * len(wanted)], strict=False)]
        if more == wanted:
            return found
        wanted = more


# Measured errors.


def _measured(
    graph: Whole, boxes: Mapping[str, tuple[AnyArray, AnyArray]], arrays: Arrays, run: Run, exactly: Exactly
) -> tuple[dict[str, tuple[float, float]], str]:
    """Return the largest error and the largest magnitude of each output, and why there is none."""
    floats = [a.dtype for a in arrays.values() if is_floating(a.dtype)]
    wide = np.longdouble if all(d == np.float64 for d in floats) else np.float64
    found: dict[str, tuple[float, float]] = {}
    try:
        for point in _points(boxes, arrays):
            outputs = run(point)
            exact = exactly(graph.block, [point[n] for n in graph.file.inputs], wide)
            for name, value in zip(graph.file.outputs, exact, strict=True):
                if is_floating(outputs[name].dtype):
                    found[name] = _worse(found.get(name, (0.0, 0.0)), outputs[name], value)
    except (PrimsplitError, TypeError, KeyError, NotImplementedError) as error:
        return {}, f"exact arithmetic cannot run the file: {getattr(error, 'what', error)}"
    return found, ""


def _points(boxes: Mapping[str, tuple[AnyArray, AnyArray]], arrays: Arrays) -> Iterator[dict[str, AnyArray]]:
    """Yield the given point, if it is in the box, and random ones."""
    if all(np.all((low <= arrays[n]) & (arrays[n] <= high)) for n, (low, high) in boxes.items()):
        yield dict(arrays)
    draw = np.random.default_rng(0)
    for _ in range(SAMPLES):
        yield {n: _drawn(draw, low, high) for n, (low, high) in boxes.items()}


def _drawn(draw: np.random.Generator, low: AnyArray, high: AnyArray) -> AnyArray:
    if not is_floating(low.dtype):
        return low
    share = draw.uniform(size=low.shape)
    mixed = low.astype(np.float64) * (1 - share) + high.astype(np.float64) * share
    return np.asarray(np.clip(mixed.astype(low.dtype), low, high))


def _worse(known: tuple[float, float], output: AnyArray, exact: AnyArray) -> tuple[float, float]:
    """Return the largest error and magnitude so far; NaN and infinity are errors without end."""
    is_finite = np.isfinite(output) & np.isfinite(exact)
    gap = np.abs(np.where(is_finite, output.astype(exact.dtype) - exact, np.inf))
    return max(known[0], float(np.max(gap, initial=0.0))), max(known[1], float(np.max(np.abs(exact), initial=0.0)))
