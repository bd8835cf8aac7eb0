"""Tell in what two files differ: statements by section, arrays, inputs and outputs, states, versions of operators.

```
forward  changed  - hidden = Max(add, 0.0)    old.py:10  hidden = np.maximum(x @ w + b, 0)
                  + hidden = Tanh(add)        new.py:11  hidden = np.tanh(x @ w + b)
```

Numbers of lines, names of temporaries and the order of independent nodes are no difference.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files as resources
from typing import Any

import numpy as np

from primsplit.audit.frozen import array_digest
from primsplit.audit.review.changes import STATUSES, Change, Comparing
from primsplit.audit.review.contents import Contents, Digests, contents
from primsplit.audit.review.matching import Matching, Side
from primsplit.audit.review.mathematics import Mathematics, mathematics
from primsplit.audit.written import Written
from primsplit.ir import Const, Value, Var

Row = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """The differences of two files, as changes of statements and as rows for tables.

    `moved` is how many statements are for other lines, `renamed` the user's names that are others, `retyped` how many
    statements compute in other types because of the inputs or of an earlier change.
    """

    before: Written
    after: Written
    changes: tuple[Change, ...]
    counts: Mapping[str, Mapping[str, int]]
    arrays: tuple[Row, ...]
    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]
    states: tuple[Row, ...]
    opsets: tuple[Row, ...]
    moved: int
    retyped: int
    renamed: Mapping[str, str]
    compared: Comparing

    @cached_property
    def mathematics(self) -> Mathematics | None:
        """The changes as statements of mathematics; None if a file has none."""
        return mathematics(self.compared)

    @property
    def shown_counts(self) -> Mapping[str, Mapping[str, int]]:
        """The number of statements of mathematics in each section that differ; of nodes if there is no mathematics."""
        return self.counts if self.mathematics is None else self.mathematics.counts

    @property
    def shown_changes(self) -> tuple[Change, ...]:
        """The changes as mathematics, as nodes if there is none."""
        return self.changes if self.mathematics is None else self.mathematics.changes

    @cached_property
    def is_same(self) -> bool:
        """Whether both files compute the same, under the same names of inputs and outputs."""
        rows = (self.changes, self.arrays, self.inputs, self.outputs, self.states, self.opsets)
        return not any(rows) and not self.retyped

    def as_dict(self) -> Row:
        """Return the differences for JSON."""
        return {
            "same": self.is_same,
            "before": _file(self.before),
            "after": _file(self.after),
            "sections": self._sections(),
            "statements": [change.as_dict() for change in (self.mathematics.changes if self.mathematics else ())],
            "nodes": [change.as_dict() for change in self.changes],
            "arrays": [*self.arrays],
            "inputs": [*self.inputs],
            "outputs": [*self.outputs],
            "states": [*self.states],
            "opsets": [*self.opsets],
            "moved": self.moved,
            "retyped": self.retyped,
            "renamed": dict(self.renamed),
        }

    def _sections(self) -> list[Row]:
        """Return how many statements and nodes of each section differ; no statements where there is no mathematics."""
        of = {"statements": self.mathematics.counts if self.mathematics else {}, "nodes": self.counts}
        names = dict.fromkeys(name for counts in of.values() for name in counts)
        none = dict.fromkeys(STATUSES, 0)
        return [{"section": name, **{what: {**none, **c.get(name, {})} for what, c in of.items()}} for name in names]


def schema_text() -> str:
    """Return the JSON schema of `primsplit diff --json`, draft 2020-12."""
    return (resources("primsplit.audit.review") / "schema.json").read_text(encoding="utf-8")


def difference(before: Written, after: Written) -> Difference:
    """Return in what two files differ."""
    arrays = contents(before, after)
    old, new = (Side(file, _digests(file, arrays)) for file in (before, after))
    matching = Matching(old, new, arrays.identity)
    matching.run()
    compared = Comparing(matching)
    changes = tuple(compared.changes())
    return Difference(
        before,
        after,
        changes,
        compared.counts,
        tuple(_array_rows(arrays, before, after)),
        tuple(_named_rows(_inputs(before), _inputs(after))),
        tuple(_output_rows(matching)),
        tuple(_state_rows(before, after)),
        tuple(_named_rows(_versions(before), _versions(after), "version")),
        compared.moved,
        compared.retyped,
        compared.renamed,
        compared,
    )


def _digests(file: Written, arrays: Contents) -> Digests:
    found = Digests(arrays.identity)
    found.graph(file.block, file.inputs)
    for block in file.functions.values():
        found.graph(block, tuple(f"argument {i}" for i in range(len(block.params))))
    return found


def _file(file: Written) -> Row:
    return {"file": file.path, "bytes": file.size, "sha256": file.digest, "producer": file.producer}


def _inputs(file: Written) -> dict[str, str]:
    return {name: file.told[p] for name, p in zip(file.inputs, file.block.params, strict=True)}


def _versions(file: Written) -> dict[str, str]:
    return {domain or "ai.onnx": str(version) for domain, version in file.opsets.items()}


def _named_rows(old: Mapping[str, str], new: Mapping[str, str], what: str = "type") -> Iterator[Row]:
    """Yield a row for each name with other texts, or in one of both alone."""
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield {"name": name, "before": old.get(name), "after": new.get(name), "why": what}


def _output_rows(matching: Matching) -> Iterator[Row]:
    """Yield the outputs of other types, in one file alone, or that are another value of the same name."""
    old, new = _results(matching.before.file), _results(matching.after.file)
    types = [
        {name: _type(f, v) for name, v in of.items()}
        for f, of in ((matching.before.file, old), (matching.after.file, new))
    ]
    yield from _named_rows(types[0], types[1])
    for name in old:
        if name not in new or types[0][name] != types[1][name] or matching.corresponds(old[name], new[name]):
            continue
        if not (matching.before.is_left(old[name]) and matching.after.is_left(new[name])):
            texts = _value(matching.before.file, old[name]), _value(matching.after.file, new[name])
            yield {"name": name, "before": texts[0], "after": texts[1], "why": "value"}


def _results(file: Written) -> dict[str, Value]:
    return dict(zip(file.outputs, file.block.results, strict=True))


def _type(file: Written, value: Value) -> str:
    return file.told[value] if isinstance(value, Var) else str(value.type)


def _value(file: Written, value: Value) -> str:
    return file.names.get(value, "") or str(value)


def _state_rows(before: Written, after: Written) -> Iterator[Row]:
    """Yield the states that hand on other names or begin with other numbers."""
    old, new = ({s.name: s for s in file.states} for file in (before, after))
    for name in dict.fromkeys((*old, *new)):
        a, b = old.get(name), new.get(name)
        texts = [None if s is None else f"{s.input} -> {s.output}, starts {array_digest(s.initial)}" for s in (a, b)]
        if texts[0] != texts[1]:
            yield {"name": name, "before": texts[0], "after": texts[1], "why": "state"}


def _array_rows(arrays: Contents, before: Written, after: Written) -> Iterator[Row]:
    """Yield a row for each array that is another one, or in one file alone."""
    for a, b in arrays.changed:
        yield {"name": before.names[a], "before": _array(a), "after": _array(b), "difference": _distance(a, b)}
    for const in arrays.removed:
        yield {"name": before.names[const], "before": _array(const), "after": None, "difference": None}
    for const in arrays.added:
        yield {"name": after.names[const], "before": None, "after": _array(const), "difference": None}


def _array(const: Const) -> Row:
    return {"type": str(const.type), "sha256": array_digest(const.numpy())}


def _distance(a: Const, b: Const) -> float | None:
    """Return the largest difference of the numbers of two arrays of one shape; None if there is none."""
    x, y = a.numpy(), b.numpy()
    if x.shape != y.shape or {x.dtype.kind, y.dtype.kind} - {*"biufV"}:
        return None
    with np.errstate(all="ignore"):
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
    apart = apart[~np.isnan(apart)]
    return float(apart.max()) if apart.size else None
