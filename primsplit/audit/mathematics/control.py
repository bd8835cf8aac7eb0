"""Show branches and loops: `if total > 1:`, `for t in reversed(range(T)):`, with what their steps hand on.

```
for x_t in zip(xs): h_1 = np.tanh(h + x_t); h = h_1     ->     for t in range(T):
                                                                   h = tanh(h + xs[t])
```
"""

import ast
from collections.abc import Sequence

from primsplit.audit.mathematics.folded import Folded
from primsplit.audit.mathematics.folding import Folding
from primsplit.audit.mathematics.idioms import chosen, note_of, recognized
from primsplit.audit.mathematics.ordering import read_by
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import renamed, simplified
from primsplit.audit.mathematics.sizes import Shape
from primsplit.audit.mathematics.steps import at_step
from primsplit.audit.statements import Branch, Collected, Loop, Scan, Scanned, Statement, Suite
from primsplit.audit.trees import name, tree, tuple_of, variables_in
from primsplit.ir import Op

Assigned = list[tuple[str, ast.expr]]
STEPS = ("t", "step", "k", "inner_step")
"""Variables that count steps: a loop takes the first that no loop around it has, and no value of the file."""
ENDLESS = 2**31
"""A count of as many steps is none."""


def control(folding: Folding, statement: Statement) -> None:
    """Show a statement that has bodies."""
    match statement:
        case Branch():
            _branch(folding, statement)
        case Scan():
            _scan(folding, statement)
        case Loop():
            _loop(folding, statement)


def _head(folding: Folding, statement: Statement, text: str, value: ast.expr | None = None) -> Shown:
    """Return the head of a statement with a body; `{}` in the text is the value."""
    taken = [] if value is None else folding.taken(variables_in(value))
    filled = None if value is None else folding.fill(value)
    ops = [*statement.ops, *taken]
    return Shown(op=statement.op, ops=ops, head=text, expression=filled, section=folding.section)


def _branch(folding: Folding, statement: Branch) -> None:
    """Show `if` and `else`, or the side alone that says what both do."""
    side = chosen(statement, folding.sizes)
    if side is not None:
        shown = {op for inner in side.statements for op in inner.every_op()}
        before = len(folding.lines)
        _inline(folding, side)
        hidden = [op for op in statement.every_op() if op not in shown]
        folding.plumbing += [statement.op, *folding.taken(variables_in(statement.test))]
        shown_lines = folding.lines[before:]
        line = next((line for line in shown_lines if line.head), shown_lines[0])
        line.ops += [op for op in hidden if op is not statement.op]
        line.note = note_of(statement, len(hidden)) or line.note
        return
    head = _head(folding, statement, "if {}:", statement.test)
    other = Shown(op=statement.op, ops=[], head="else:", section=folding.section)
    for line, suite in zip((head, other), statement.sides, strict=True):
        line.below = _body(folding, suite, [*suite.results], statement.op)
    folding.lines += [head, other]


def _inline(folding: Folding, side: Suite) -> None:
    """Show the statements of a body where the branch stands."""
    folding.suite(recognized(side.statements, folding.sizes), id(side))
    _finish(folding, [*side.results], folding.lines[-1].op)


def _body(folding: Folding, suite: Suite, results: Assigned, op: Op) -> list[Shown]:
    """Return the lines that the page shows for a body; they end with these assignments, made all at once."""
    around, folding.lines = folding.lines, []
    folding.suite(recognized(suite.statements, folding.sizes), id(suite))
    _finish(folding, results, op)
    found, folding.lines = folding.lines, around
    return found


def _finish(folding: Folding, results: Assigned, op: Op) -> None:
    """Show what a body hands on: under its name from the start where nothing reads the value before."""
    left = [*results]
    _keep_old(folding, left, op)
    rest: list[Shown] = []
    while left:
        target, value = left.pop(0)
        if isinstance(value, ast.Name) and value.id != target and _retarget(folding, value.id, target, left, rest):
            continue
        line = _last(folding, target, value, op)
        if line is not None:
            rest.append(line)
    folding.lines += _at_once(rest, op)


def _keep_old(folding: Folding, left: Assigned, op: Op) -> None:
    """Show first what a step keeps of a value that it is handed, so that this may change: `h_steps[t] = h`."""
    handed = {target for target, _ in left}
    assigned = {line.target for top in folding.lines for line in top.walk()}
    kept: list[tuple[str, ast.expr, list[Op]]] = []
    for target, value in [*left] if handed else []:
        filled = folding.fill(value) if isinstance(value, ast.Name) else value
        is_old = isinstance(filled, ast.Name) and filled.id in handed - assigned - {*folding.env}
        if "[" in target and is_old:
            kept.append((target, filled, folding.taken(variables_in(value))))
            left.remove((target, value))
    folding.lines[:0] = [
        Shown(op=op, ops=ops, target=target, value=value, section=folding.section, is_passed=True)
        for target, value, ops in kept
    ]


def _last(folding: Folding, target: str, value: ast.expr, op: Op) -> Shown | None:
    """Return the assignment of a value that a body hands on; None if the variable has it already."""
    place, ops, result = op, [], None
    waiting = folding.env.get(value.id) if isinstance(value, ast.Name) else None
    if waiting is not None:
        ops = folding.taken([*variables_in(value)])
        result = folding.of.get(target)
        if waiting.statement is not None:
            place = waiting.statement.op
    elif isinstance(value, ast.Name) and value.id == target:
        return None
    filled = folding.fill(value)
    if isinstance(value, ast.Name):
        folding.env.pop(value.id, None)
    if isinstance(filled, ast.Name) and filled.id == target:
        folding.plumbing += ops
        return None
    return Shown(
        op=place, ops=ops, target=target, value=filled, result=result, section=folding.section,
        is_passed=waiting is None,
    )  # fmt: skip


def _retarget(folding: Folding, own: str, target: str, left: Assigned, rest: Sequence[Shown]) -> bool:
    """Give a value the name under which it is handed on, if nothing reads the old value of that name from there on."""
    lines = folding.lines
    at = next((i for i, top in enumerate(lines) if any(line.target == own for line in top.walk())), None)
    stem = target.partition("[")[0]
    if (
        at is None
        or own in folding.axes
        or ("[" in target and (folding.uses.count_of(own) > 1 or own in folding.named))
    ):
        return False
    first = [*lines[at].walk()]
    behind = [*first[1:], *(line for top in lines[at + 1 :] for line in top.walk())]
    if lines[at].head and stem in read_by(lines[at]):
        return False
    if any(stem in {*read_by(line), *line.target.split(", ")} for line in (*behind, *rest)):
        return False
    if any(stem in variables_in(value) for _, value in left):
        return False
    for line in (*first, *behind, *rest):
        line.target = target if line.target == own else line.target
    for line in (*behind, *rest):
        line.value = None if line.value is None else renamed(line.value, {own: target})
        line.expression = None if line.expression is None else renamed(line.expression, {own: target})
    left[:] = [(t, renamed(value, {own: target})) for t, value in left]
    folding.handed_on[own] = stem
    _drop_copy(folding, at)
    return True


def _drop_copy(folding: Folding, at: int) -> None:
    """Drop `x = x`, the first value of a loop that has the name of the loop around it."""
    line = folding.lines[at]
    if isinstance(line.value, ast.Name) and line.value.id == line.target:
        folding.plumbing += line.ops
        del folding.lines[at]


def _at_once(lines: Sequence[Shown], op: Op) -> list[Shown]:
    """Return the assignments as lines, or as one line if a later one reads a variable that an earlier one sets."""
    seen: set[str] = set()
    for line in lines:
        if seen & read_by(line):
            values = [line.value for line in lines if line.value is not None]
            ops = [o for line in lines for o in line.ops]
            targets = ", ".join(line.target for line in lines)
            section = lines[0].section
            return [Shown(op=op, ops=ops, target=targets, value=tuple_of(values), section=section, is_passed=True)]
        seen.add(line.target)
    return [*lines]


def _starts(folding: Folding, initial: Sequence[tuple[str, ast.expr]], statement: Statement) -> None:
    """Show the values that a loop starts with."""
    for target, value in initial:
        ops = folding.taken(variables_in(value))
        filled = folding.fill(value)
        if not (isinstance(filled, ast.Name) and filled.id == target):
            result = folding.of.get(target)
            folding.lines.append(
                Shown(
                    op=statement.op,
                    ops=ops,
                    target=target,
                    value=filled,
                    result=result,
                    section=folding.section,
                    is_passed=True,
                )
            )


def _collected(collected: Sequence[Collected], step: str) -> Assigned:
    """Return the assignments `array[step] = item` of one step of a loop."""
    return [(f"{c.target}[{step}]", c.item) for c in collected]


def _scan(folding: Folding, statement: Scan) -> None:
    """Show a loop over the parts of arrays."""
    _starts(folding, statement.initial, statement)
    is_back = any(s.is_reversed for s in statement.scanned) or any(c.is_reversed for c in statement.collected)
    step = _step(folding)
    text = f"for {step} in reversed(range({{}})):" if is_back else f"for {step} in range({{}}):"
    arrays = [s.array for s in statement.scanned]
    taken = folding.taken({n for array in arrays for n in variables_in(array)})
    head = _head(folding, statement, text, _steps(folding, statement))
    head.ops += taken
    for each, array in zip(statement.scanned, arrays, strict=True):
        part = "a[t]" if each.axis == 0 else "take(a, t, axis=k)"
        whole_array, shape = folding.fill(array), _array_shape(folding, statement, each)
        found = tree(part, a=whole_array, k=ast.Constant(each.axis), t=name(step))
        if each.axis == 0 and shape is not None:
            found = at_step(whole_array, name(step), shape, folding.shape_of) or found
        folding.env[each.name] = Folded(simplified(found), folding.sizes.shape(folding.of[each.name]))
    results = [*_collected(statement.collected, step), *statement.body.results]
    head.below = _body(folding, statement.body, results, statement.op)
    folding.steps.remove(step)
    folding.lines.append(head)


def _array_shape(folding: Folding, statement: Scan, each: Scanned) -> Shape | None:
    """Return the shape of the array that a loop goes through."""
    at = statement.scanned.index(each) - len(statement.scanned)
    value = statement.op.inputs[at]
    return None if value is None else folding.sizes.shape(value)


def _step(folding: Folding) -> str:
    """Return a variable that counts the steps of a loop inside of those that are shown now."""
    free = (s for s in STEPS if s not in folding.of and s not in folding.steps)
    found = next(free, f"step_{len(folding.steps)}")
    folding.steps.append(found)
    return found


def _steps(folding: Folding, statement: Scan) -> ast.expr:
    """Return the number of steps."""
    op = statement.op
    for value, scanned in zip(op.inputs[len(op.inputs) - len(statement.scanned) :], statement.scanned, strict=True):
        shape = None if value is None else folding.sizes.shape(value)
        size = None if shape is None else folding.sizes.tree(shape[scanned.axis])
        if size is not None:
            return size
    return tree("len(a)", a=folding.fill(statement.scanned[0].array))


def _is_true(value: ast.expr) -> bool:
    return "True" in ast.unparse(value) and not variables_in(value) - {"np"}


def _loop(folding: Folding, statement: Loop) -> None:
    """Show a loop with a count, a condition that a step computes, or both."""
    results = dict(statement.body.results)
    goes_on = results.pop(statement.goes_on, None)
    first = dict(statement.initial)
    starts_always = _is_true(first.pop(statement.goes_on, ast.Constant(value=True)))
    _starts(folding, [*first.items()], statement)
    step = _step(folding)
    folding.env[statement.step] = Folded(name(step), ())
    ends = goes_on is None or _is_true(goes_on)
    tests = not starts_always
    if statement.count is not None and not _is_endless(statement.count):
        head = _head(folding, statement, f"for {step} in range({{}}):", statement.count)
    elif statement.collected or folding.uses.count_of(statement.step):
        head = _head(folding, statement, f"for {step} in count():")
    elif tests and not ends:
        head, tests = _head(folding, statement, "while {}:", name(statement.goes_on)), False
    else:
        head = _head(folding, statement, "while True:")
    if not starts_always:
        _starts(folding, [(statement.goes_on, dict(statement.initial)[statement.goes_on])], statement)
    tail = [*_collected(statement.collected, step), *results.items()]
    if not ends and goes_on is not None:
        tail = [(statement.goes_on, goes_on), *tail]
    head.below = _body(folding, statement.body, tail, statement.op)
    if tests:
        head.below.insert(0, _end(folding, statement))
    elif starts_always and any(line.target == statement.goes_on for line in head.below):
        head.below.append(_end(folding, statement))
    folding.steps.remove(step)
    folding.lines.append(head)


def _end(folding: Folding, statement: Loop) -> Shown:
    """Return `if not goes_on: break`."""
    found = _head(folding, statement, "if not {}: break", name(statement.goes_on))
    found.ops = []
    return found


def _is_endless(count: ast.expr) -> bool:
    """Whether a loop ends by its condition alone, and nothing reads the number of its steps."""
    return isinstance(count, ast.Constant) and isinstance(count.value, int) and count.value >= ENDLESS
