"""Tell of each value of a file its range, NaN, infinity and denormal numbers, and how far it is from float64.

```
y = Div(x, n)     min 0.5  max 2.1   NaN 0   from float64 3e-08
z = Log(d)        min -7   max 0.3   NaN 2   begins: NaN of finite inputs, line 12
```

Values of the graph are those that onnxruntime computes. Values inside of loops, branches and functions are those of the
standard's reference, over all steps.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from primsplit.audit.exposed import exposed
from primsplit.audit.whole import Whole, about, whole
from primsplit.audit.written import Written
from primsplit.ir import AnyArray, Block, Op, Var, reads, walk
from primsplit.ir.analysis.carries import lead_and_carries
from primsplit.ir.errors import PrimsplitError

Step = tuple[Op, tuple[AnyArray, ...]]
Play = Callable[[Block, Sequence[AnyArray], Any], Iterator[Step]]
"""Evaluates a block in a dtype, or in its own for None, and yields each op with its outputs: `testing.reference`."""
ONNXRUNTIME, REFERENCE = "onnxruntime", "reference"


@dataclass
class Numbers:
    """The numbers of one value: over all steps, if it is in a loop. `off` is its largest difference from float64."""

    op: Op
    dtype: np.dtype[Any]
    by: str
    shape: tuple[int, ...] = ()
    count: int = 0
    nan: int = 0
    infinite: int = 0
    denormal: int = 0
    low: float = np.inf
    high: float = -np.inf
    total: float = 0.0
    off: float | None = None
    size: float = 0.0
    begins: str = ""

    def add(self, array: AnyArray) -> None:
        """Count the elements of an array."""
        numbers = array.astype(np.float64) if array.dtype.kind != "f" or array.dtype.itemsize < 4 else array
        finite = numbers[np.isfinite(numbers)]
        self.shape, self.count = array.shape, self.count + array.size
        self.nan += int(np.isnan(numbers).sum())
        self.infinite += int(np.isinf(numbers).sum())
        if finite.size:
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))
            magnitude = np.abs(finite)
            self.total += float(magnitude.sum(dtype=np.float64))
            self.denormal += int(((magnitude > 0) & (magnitude < _smallest(self.dtype))).sum())

    def compare(self, array: AnyArray, wide: AnyArray) -> None:
        """Take the difference of an array from the same value in float64, where both are finite."""
        if array.shape != wide.shape or self.dtype.kind != "f":
            return
        both = np.isfinite(array) & np.isfinite(wide)
        gap = np.abs(array[both].astype(np.float64) - wide[both].astype(np.float64))
        self.off = max(self.off or 0.0, float(np.max(gap, initial=0.0)))
        self.size = max(self.size, float(np.max(np.abs(wide[both]), initial=0.0)))

    @property
    def is_finite(self) -> bool:
        """Whether there is neither NaN nor infinity."""
        return not self.nan and not self.infinite

    @property
    def relative(self) -> float | None:
        """The largest difference from float64, as a part of the largest magnitude."""
        return None if self.off is None else self.off / self.size if self.size else self.off

    def as_dict(self) -> dict[str, Any]:
        """The numbers for JSON; None for a range without a finite number."""
        finite = self.count - self.nan - self.infinite
        return {
            "type": f"{self.dtype}[{','.join(map(str, self.shape))}]" if self.shape else str(self.dtype),
            "by": self.by,
            "count": self.count,
            "min": self.low if finite else None,
            "max": self.high if finite else None,
            "magnitude": self.total / finite if finite else None,
            "nan": self.nan,
            "infinite": self.infinite,
            "denormal": self.denormal,
            "relative": self.relative,
            "begins": self.begins,
        }


def _smallest(dtype: np.dtype[Any]) -> float:
    return float(np.finfo(dtype).tiny) if dtype.kind == "f" else 0.0


def numeric_rows(file: Written, arrays: Mapping[str, AnyArray], play: Play) -> dict[str, Any]:
    """Return a row for each value that a node makes, the worst first, and `why` where some is not known.

    First come the values with NaN or infinity that begin there: their inputs were finite. Then come other such values,
    then those that are farthest from float64.
    """
    graph = whole(file)
    run = _Run(graph, arrays)
    run.wide_values(play)
    for name, array in exposed(file, arrays):
        run.take(name, array)
    run.inner(play)
    run.begin()
    pairs = [(run.names(var), numbers) for var, numbers in run.found.items()]
    rows = [{"name": name, **n.as_dict(), **about(n.op, run.node(n.op))} for name, n in pairs]
    rows.sort(key=lambda r: (not r["begins"], not (r["nan"] or r["infinite"]), -(r["relative"] or 0.0)))
    return {"rows": rows, "why": run.why}


@dataclass
class _Run:
    """The numbers of one run, by the value; `wide` has the values of the graph in float64."""

    graph: Whole
    arrays: Mapping[str, AnyArray]
    found: dict[Var, Numbers] = field(default_factory=dict)
    wide: dict[Var, AnyArray] = field(default_factory=dict)
    why: str = ""

    def __post_init__(self) -> None:
        self.own = {v: op for op in self.graph.block.ops for v in op.outputs}
        self.by_name = {self.graph.file.names[v]: v for op in self.graph.file.block.ops for v in op.outputs}
        self.given = [self.arrays[name] for name in self.graph.file.inputs]
        self.entering = _entering(self.graph.block)
        self.bad = {p for p, a in zip(self.graph.block.params, self.given, strict=True) if not _is_finite(a)}

    def names(self, var: Var) -> str:
        """Return the name of a value; a hint for one in a body."""
        return self.graph.names.get(var, var.hint)

    def node(self, op: Op) -> str:
        """Return the name of the node of an op."""
        return self.graph.nodes.get(op, "")

    def wide_values(self, play: Play) -> None:
        """Compute the graph in float64, as far as the reference can."""
        for op, values in self.told(play(self.graph.block, self.given, np.float64)):
            if op.outputs and op.outputs[0] in self.own:
                self.wide.update(zip(op.outputs, values, strict=False))

    def told(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Yield steps; an error of the reference ends them, and is kept."""
        try:
            yield from steps
        except PrimsplitError as error:
            self.why = error.what

    def take(self, name: str, array: AnyArray) -> None:
        """Count a value that onnxruntime computed, and compare it with float64."""
        var = self.by_name[name]
        op = self.own.get(var)
        if op is None:  # the result of a function: its op is inside
            return
        numbers = self.found[var] = Numbers(op, array.dtype, ONNXRUNTIME)
        numbers.add(array)
        if var in self.wide:
            numbers.compare(array, self.wide[var])

    def inner(self, play: Play) -> None:
        """Count the values inside of loops, branches and functions, which the reference computes twice side by side."""
        if all(v in self.found for v in self.own) and not any(op.blocks() for op in self.graph.block.ops):
            return
        pairs = zip(
            self.told(play(self.graph.block, self.given, None)),
            self.told(play(self.graph.block, self.given, np.float64)),
            strict=False,
        )
        for (op, values), (other, wide) in pairs:
            if op is not other:
                self.why = "a loop or branch goes another way in float64 than in the dtypes of the file"
                return
            clean = not any(self.is_bad(v) for v in reads(op)) and not op.blocks()
            for var, array, exact in zip(op.outputs, values, wide, strict=False):
                is_finite = _is_finite(array)
                (self.bad.discard if is_finite else self.bad.add)(var)
                if var in self.found and self.found[var].by == ONNXRUNTIME:
                    continue
                numbers = self.found.setdefault(var, Numbers(op, array.dtype, REFERENCE))
                numbers.add(array)
                numbers.compare(array, exact)
                if clean and not is_finite:
                    numbers.begins = numbers.begins or _kind(array)

    def is_bad(self, var: Var) -> bool:
        """Whether a value is not finite at this step: of a body's parameter, where it comes from."""
        return var in self.bad or any(v in self.bad for v in self.entering.get(var, ()))

    def begin(self) -> None:
        """Say of each value of the graph that is not finite, and whose inputs are, what begins there."""
        params = zip(self.graph.block.params, self.given, strict=True)
        bad = {p for p, a in params if not _is_finite(a)} | {v for v, n in self.found.items() if not n.is_finite}
        for numbers in self.found.values():
            is_known = numbers.by == ONNXRUNTIME and not numbers.is_finite and not numbers.op.blocks()
            if is_known and bad.isdisjoint(reads(numbers.op)):
                numbers.begins = "NaN" if numbers.nan else "infinity"


def _entering(block: Block) -> dict[Var, tuple[Var, ...]]:
    """Map each parameter of a loop body to the input that it starts as, and the result that it is in the next step."""
    found: dict[Var, tuple[Var, ...]] = {}
    for op in walk(block):
        if op.kind not in {"Loop", "Scan"}:
            continue
        (body,) = op.blocks()
        lead, carries = lead_and_carries(op)
        results = body.results[lead // 2 :]
        for i, param in enumerate(body.params[lead:]):
            sources = (op.inputs[lead + i], results[i] if i < carries else None)
            found[param] = tuple(v for v in sources if isinstance(v, Var))
    return found


def _kind(array: AnyArray) -> str:
    return "NaN" if bool(np.isnan(array).any()) else "infinity"


def _is_finite(array: AnyArray) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())
