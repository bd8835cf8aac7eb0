"""List which derivative rules made the nodes of a file, and which rules of the user's made none.

Tanh      pullback  3 nodes  primsplit/rules/activation.py:35  mlp.py:5
softplus  pullback  2 nodes  mine.py:9                         mine.py:21, mine.py:22
"""

import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from primsplit.audit.written import Written
from primsplit.ir import Block, is_call, walk
from primsplit.rules.table import BLOCK_RULES, FRULES, RULES, status
from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.registering import is_own, module_of

MADE = re.compile(r"(pullback|tangent) of (.+?)(?: \(order \d+\))?")
"""The remark of a node of a derivative."""


def rules_used(files: Sequence[Written], block: Block | None = None) -> list[dict[str, Any]]:
    """Return a row for each rule that made nodes of the files, the one with the most nodes first.

    `block` is the function as it was recorded, which knows the rules of its calls.
    """
    counts: dict[tuple[str, str], int] = {}
    lines: dict[tuple[str, str], dict[str, None]] = {}
    for op in (op for file in files for op in file.ops()):
        found = MADE.fullmatch(op.remark)
        if found is None:
            continue
        key = (found[2], found[1])
        counts[key] = counts.get(key, 0) + 1
        lines.setdefault(key, {}).update({} if op.place is None else {op.place.short: None})
    calls = _calls(block) if block is not None else {}
    return [
        {
            "rule": kind.removeprefix("call::"),
            "part": part,
            "nodes": count,
            "form": "call" if kind.startswith("call::") else status(kind) or "",
            "where": _where(kind, part, calls),
            "lines": [*lines[kind, part]],
        }
        for (kind, part), count in sorted(counts.items(), key=lambda item: -item[1])
    ]


def unused_rules(rows: Sequence[Mapping[str, Any]], scope: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the rules that are not of this package and made none of the nodes of these rows.

    They are the rules of operators in the tables, and those of the primitives among the globals `scope` of a file.
    """
    used = {row["rule"] for row in rows}
    found = {}
    for kind, rule in _of_users():
        if kind not in used:
            found[kind] = {"rule": kind, "of": "operator", "where": place_of(rule)}
    for value in scope.values():
        rule = (value.rule or value.frule) if isinstance(value, Primitive) else None
        if isinstance(value, Primitive) and rule is not None and value.name not in used:
            found[value.name] = {"rule": value.name, "of": "primitive", "where": place_of(rule)}
    return [*found.values()]


def _of_users() -> Iterator[tuple[str, Any]]:
    rules = [(kind, entry.rule) for kind, entry in RULES.items() if entry.rule is not None]
    rules += [(kind, entry.rule) for kind, entry in FRULES.items()]
    rules += [*BLOCK_RULES.items()]
    yield from ((kind, rule) for kind, rule in rules if module_of(rule) and not is_own(rule))


def _calls(block: Block) -> dict[str, Primitive]:
    """Return the primitives that a program calls, by the kinds of their ops."""
    held = ((op.kind, op.attributes.get("rule")) for op in walk(block) if is_call(op))
    found = ((kind, getattr(rule, "primitive", None)) for kind, rule in held)
    return {kind: primitive for kind, primitive in found if isinstance(primitive, Primitive)}


def _where(kind: str, part: str, calls: Mapping[str, Primitive]) -> str:
    """Return the file and line of the rule of an op; "" for a rule that no line defines."""
    if kind in calls:
        rules = (calls[kind].frule, calls[kind].rule) if part == "tangent" else (calls[kind].rule, calls[kind].frule)
        return place_of(next((rule for rule in rules if rule is not None), None))
    if part == "tangent" and kind in FRULES:
        return place_of(FRULES[kind].rule)
    if kind in RULES:
        return _short(RULES[kind].where)
    return place_of(BLOCK_RULES.get(kind))


def place_of(rule: Any) -> str:
    """Return the file and line of a function, or of the one that a rule holds."""
    inner = getattr(rule, "rule", None) or getattr(rule, "function", None) or rule
    code = getattr(inspect.unwrap(inner), "__code__", None) if callable(inner) else None
    return "" if code is None else _short(f"{code.co_filename}:{code.co_firstlineno}")


def _short(where: str) -> str:
    """Return the place without the folders: the package's own with the path inside of it."""
    package = os.path.dirname(os.path.abspath(sys.modules["primsplit"].__file__ or "")) + os.sep
    return f"primsplit/{where.removeprefix(package)}" if where.startswith(package) else os.path.basename(where)
