"""Write statements as one that people write as one: first values of a loop, what a step keeps, a layer's gradients.

```
h = 0; total = 0; for t in range(T):                 ->   h, total = 0, 0
h = tanh(w * h + xs[t]); h_steps[t] = h              ->   h = h_steps[t] = tanh(w * h + xs[t])
d_w = hidden.T @ d_z; d_b = sum(d_z, axis=0)         ->   d_w, d_b = hidden.T @ d_z, sum(d_z, axis=0)
```
"""

import ast
from collections.abc import Mapping, Sequence

from primsplit.audit.mathematics.ordering import read_by, targets_of
from primsplit.audit.mathematics.shown import LONGEST, Shown
from primsplit.audit.mathematics.simplify import renamed, text_of
from primsplit.audit.trees import tuple_of
from primsplit.ir import Op


def joined(lines: Sequence[Shown], names: Mapping[str, str]) -> list[Shown]:
    """Return the statements with those joined that belong together; `names` are those that a listing shows."""
    found: list[Shown] = []
    for i, line in enumerate(lines):
        line.below = joined(line.below, names)
        behind = next((other for other in lines[i + 1 :] if other.op is line.op and other.below), None)
        if found and (_keep(line, found) or _starts(line, found[-1], behind, names) or _layer(line, found, names)):
            continue
        found.append(line)
    return found


def _keep(line: Shown, before: Sequence[Shown]) -> bool:
    """Join `steps[t] = h` to the statement before that assigns `h`, if there is one; False for none."""
    if "[" not in line.target or not isinstance(line.value, ast.Name):
        return False
    own = line.value.id
    at = next((i for i in reversed(range(len(before))) if _sets(before[i], own)), None)
    if at is None or before[at].target != own or before[at].value is None or before[at].kept:
        return False
    before[at].kept = line.target
    before[at].ops += line.ops
    return True


def _sets(line: Shown, own: str) -> bool:
    return any(own in targets_of(inner) for inner in line.walk())


def _starts(line: Shown, last: Shown, behind: Shown | None, names: Mapping[str, str]) -> bool:
    """Join the first values of a loop, or what a step keeps of its first values; False for another statement."""
    if not (line.is_passed and last.is_passed) or line.op is not last.op or line.section != last.section:
        return False
    is_start = behind is not None
    is_kept = "[" in line.target and "[" in last.target
    return (is_start or is_kept) and _join(line, last, names)


def _layer(line: Shown, before: list[Shown], names: Mapping[str, str]) -> bool:
    """Join the gradients by the weights and by the bias of a layer: a product and a sum of one cotangent."""
    for at in reversed(range(len(before))):
        other = before[at]
        if line.op.place is None or line.op.place != other.op.place or line.section != other.section:
            return False
        pair = (other, line) if _is_pair(other, line) else (line, other)
        if _is_pair(*pair) and not any(targets_of(other) & read_by(b) for b in before[at + 1 :]):
            return _join_layer(*pair, before, at, names)
    return False


def _is_pair(weights: Shown, bias: Shown) -> bool:
    """Whether two statements are the gradients by the weights and the bias of a layer."""
    return _product_of(weights) is not None and _product_of(weights) == _sum_of(bias)


def _join_layer(weights: Shown, bias: Shown, before: list[Shown], at: int, names: Mapping[str, str]) -> bool:
    """Put the joined statement behind those before, in the place of the one that is at a place of them."""
    notes = [weights.note, bias.note]
    weights.note = bias.note = ""
    if not _join(bias, weights, names):
        weights.note, bias.note = notes
        return False
    weights.note = "; ".join(dict.fromkeys(filter(None, notes)))
    del before[at]
    before.append(weights)
    return True


def _product_of(line: Shown) -> str | None:
    """Return `d` of `x.T @ d`, or of `sum(d * x, axis=0)`."""
    value = line.value
    if "," in line.target:
        return None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.MatMult) and isinstance(value.right, ast.Name):
        return value.right.id
    added = _added(value)
    is_product = isinstance(added, ast.BinOp) and isinstance(added.op, ast.Mult) and isinstance(added.left, ast.Name)
    return added.left.id if isinstance(added, ast.BinOp) and is_product and isinstance(added.left, ast.Name) else None


def _sum_of(line: Shown) -> str | None:
    """Return `d` of `sum(d, axis=0)`."""
    added = _added(line.value)
    return added.id if isinstance(added, ast.Name) and "," not in line.target else None


def _added(value: ast.expr | None) -> ast.expr | None:
    """Return `d` of `sum(d)`; None for other expressions."""
    is_sum = isinstance(value, ast.Call) and ast.unparse(value.func) == "sum"
    return value.args[0] if isinstance(value, ast.Call) and is_sum else None


def _join(line: Shown, last: Shown, names: Mapping[str, str]) -> bool:
    """Join a statement to the last one, if it reads nothing that this sets, and the line stays short."""
    assert line.value is not None
    assert last.value is not None
    if targets_of(last) & (read_by(line) | targets_of(line)) or line.note or last.note:
        return False
    values = [*_values(last), *_values(line)]
    value = tuple_of(values)
    targets = [*last.target.split(", "), *line.target.split(", ")]
    shown = ", ".join(names.get(t.partition("[")[0], t) for t in targets)
    if len(shown) + len(text_of(renamed(value, names))) + 1 > LONGEST:
        return False
    for each in (last, line):
        if each.result is not None:
            last.results[each.target] = each.result
    last.results |= line.results
    last.target, last.value, last.result = ", ".join(targets), value, None
    last.ops = [*last.ops, *line.ops]
    return True


def without_copies(lines: Sequence[Shown], names: Mapping[str, str]) -> tuple[list[Shown], list[Op]]:
    """Return the statements without those that assign a value to the name that it has, and the nodes of those."""
    found: list[Shown] = []
    dropped: list[Op] = []
    for line in lines:
        line.below, inner = without_copies(line.below, names)
        dropped += inner
        if not _drop_copies(line, names):
            found.append(line)
        else:
            dropped += line.ops
    return found, dropped


def with_checked_results(lines: Sequence[Shown], kept: frozenset[str]) -> list[Shown]:
    """Return the statements with a result under the name that it has once a check has passed; `kept` are not renamed.

    ```
    c = cholesky(k); L = c      raises LinAlgError: ...   ->   L = cholesky(k)      raises LinAlgError: ...
    ```
    """
    found: list[Shown] = []
    made: dict[str, Shown] = {}
    names: dict[str, str] = {}
    for line in lines:
        source = made.get(line.value.id) if line.note and isinstance(line.value, ast.Name) else None
        if source is None or source.target in kept or source.note or source.kept or source.section != line.section:
            found.append(line)
            made.update({line.target: line} if line.value is not None else {})
            continue
        names[source.target] = line.target
        source.covers.add(source.target)
        source.op, source.target, source.note, source.result = line.op, line.target, line.note, line.result
        source.ops += line.ops
    for line in (line for top in found for line in top.walk()) if names else ():
        line.value = None if line.value is None else renamed(line.value, names)
        line.expression = None if line.expression is None else renamed(line.expression, names)
    return found


def without_unread(lines: Sequence[Shown], kept: frozenset[str]) -> tuple[list[Shown], list[Op]]:
    """Return the statements without those that only shape plumbing reads, and the nodes of those; `kept` stay."""
    found = [*lines]
    dropped: list[Op] = []
    while True:
        read = {name for top in found for line in top.walk() for name in read_by(line)} | kept
        gone = [
            line for line in found if line.value is not None and line.target.isidentifier() and line.target not in read
        ]
        if not gone:
            return found, dropped
        dropped += [op for line in gone for op in line.ops]
        found = [line for line in found if not any(line is other for other in gone)]


def _drop_copies(line: Shown, names: Mapping[str, str]) -> bool:
    """Drop `h = h` from a statement; True if it does nothing else."""
    if line.value is None:
        return False
    pairs = [*zip(line.target.split(", "), _values(line), strict=False)]
    left = [(t, v) for t, v in pairs if not (isinstance(v, ast.Name) and names.get(v.id, v.id) == names.get(t, t))]
    if len(left) == len(pairs) or line.kept:
        return False
    if left:
        line.target = ", ".join(target for target, _ in left)
        line.value = left[0][1] if len(left) == 1 else tuple_of([value for _, value in left])
    return not left


def _values(line: Shown) -> list[ast.expr]:
    assert line.value is not None
    return [*line.value.elts] if isinstance(line.value, ast.Tuple) and "," in line.target else [line.value]
