"""Report on a file: its inputs and outputs, the listing, the work of each line, captures, states, constants.

All of it is read from the file: nothing is differentiated, optimized or run.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from primsplit.audit.file_listing import is_literal, list_file
from primsplit.audit.frozen import array_digest, value_text
from primsplit.audit.sections import BACKWARD, FORWARD, NO_LINE, TANGENT, Section, part_told
from primsplit.audit.written import Written
from primsplit.ir import Block, Const, Op, Var, walk
from primsplit.ir.analysis.dependence import SHAPES
from primsplit.ir.dims import Dim
from primsplit.ir.errors import Place
from primsplit.ir.notation.literals import bytes_text


def report_files(files: Sequence[Written]) -> list[dict[str, Any]]:
    """Return the reports of the files of one derivative: the second of two passes reads captures of the first."""
    return [report_file(file, files[0] if i else None) for i, file in enumerate(files)]


def report_file(file: Written, first: Written | None = None) -> dict[str, Any]:
    """Return the report as texts and numbers, for JSON.

    `operators`: how many nodes each section has, `lines`: how many each of the user's lines, in graphs inside and in
    functions too. `captures`: the values that the second pass reads, with their kinds and the bytes stored for them;
    `first` is the file of the first pass, if that is another one.
    """
    sections = [*_sections(file)]
    counts = Counter({section.name: 0 for section in sections})
    counts.update(section.name for section in sections for _ in section.ops)
    captures = _captures(file, first)
    return {
        "file": os.path.basename(file.path),
        "bytes": file.size,
        "sha256": file.digest,
        "producer": file.producer,
        "function": file.block.name,
        "inputs": [{"name": n, "type": file.told[p], "role": _role(file, n)} for n, p in _inputs(file)],
        "outputs": [{"name": n, "type": _type(file, r)} for n, r in zip(file.outputs, file.block.results, strict=True)],
        "operators": dict(counts),
        "listing": "\n".join(list_file(file)),
        "lines": _lines(sections),
        "captures": captures,
        "stored": _stored(file, first),
        "states": [_state(file, i) for i in range(len(file.states))],
        "constants": [_constant(name, const) for name, const in file.held.items() if not is_literal(const)],
    }


def _inputs(file: Written) -> Iterator[tuple[str, Var]]:
    return zip(file.inputs, file.block.params, strict=True)


def _type(file: Written, value: Any) -> str:
    return str(value.type) if isinstance(value, Const) else file.told[value]


def _role(file: Written, name: str) -> str:
    """Return what an input is: told by the names of inputs and outputs, which say it in files of primsplit's."""
    outputs = {*file.outputs} if file.is_ours else set()
    if name in {state.input for state in file.states}:
        return "state"
    if name.startswith("d_") and name[2:] in outputs:
        return "cotangent"
    if name.startswith("t_") and name[2:] in file.inputs and file.is_ours:
        return "tangent"
    return "differentiated" if f"d_{name}" in outputs else "data"


def _sections(file: Written) -> Iterator[Section]:
    """Yield the sections of the graph and of the functions, with the ops of the graphs inside."""
    for section in file.sections:
        yield Section(section.name, tuple(walk(Block("", (), section.ops, ()))))
    for kind, block in file.functions.items():
        whole = part_told(Op(kind, (), ())) or (FORWARD if file.is_ours else "")
        for op in block.ops:
            yield Section(part_told(op) or whole, tuple(walk(Block("", (), (op,), ()))))


def _captures(file: Written, first: Written | None) -> list[dict[str, str]]:
    return [
        {
            "name": name,
            "kind": kind,
            "type": file.told[var],
            "bytes": "0" if kind in {"input", "output"} else _bytes(var),
            **_where(None if op is None else op.place),
        }
        for name, kind, var, op in captured(file, first)
    ]


def captured(file: Written, first: Written | None) -> list[tuple[str, str, Var, Op | None]]:
    """Return the captures with their names, kinds and nodes: what the second pass reads of the first one's values."""
    names = [section.name for section in file.sections]
    if first is not None:
        source, read = first, {n: p for n, p in _inputs(file) if n in {*first.inputs, *first.outputs}}
    elif FORWARD in names and len({*names}) == len(names) > 1:
        (forward,) = (s for s in file.sections if s.name == FORWARD)
        given = Section("", (Op("", (), file.block.params),))
        second = Section("", tuple(op for s in file.sections if s.name in {BACKWARD, TANGENT} for op in s.ops))
        source, read = file, {file.names[v]: v for v in second.read_of([given, forward]) if _is_primal(file, v)}
    else:
        return []
    made = {source.names[v]: op for op in source.block.ops for v in op.outputs}
    found = []
    for name, var in read.items():
        kind = "shape" if name in made and made[name].kind in SHAPES else "intermediate"
        results = set(file.outputs) if first is None else _own_outputs(first, file)
        kind = "input" if name in source.inputs else "output" if name in results else kind
        found.append((name, kind, var, made.get(name)))
    return found


def _is_primal(file: Written, var: Var) -> bool:
    return file.names[var] not in file.inputs or _role(file, file.names[var]) not in {"cotangent", "tangent"}


def _own_outputs(first: Written, second: Written) -> set[str]:
    """Return the outputs of a first pass that have a cotangent, or that the second pass does not read."""
    read = {*second.inputs}
    return {n for n in first.outputs if n not in read or f"d_{n}" in read or f"t_{n}" in {*second.outputs}}


def _stored(file: Written, first: Written | None) -> str:
    """Return the bytes that the first pass keeps for the second, beyond inputs and outputs."""
    total: Dim = 0
    for _, kind, var, _ in captured(file, first):
        if kind in {"intermediate", "shape"}:
            count = var.type.nbytes()
            if count is None:
                return "unknown"
            total = total + count
    return bytes_text(total)


def _bytes(var: Var) -> str:
    count = var.type.nbytes()
    return "unknown" if count is None else str(count)


def _lines(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return one row for each of the user's lines, in the order in which they first run, with its nodes by section."""
    counts = [(section.name, Counter(map(_place, section.ops))) for section in sections]
    names = list(dict.fromkeys(name for name, _ in counts))
    rows = []
    for place in dict.fromkeys(place for _, counted in counts for place in counted):
        by_section = {name: sum(counted[place] for n, counted in counts if n == name) for name in names}
        where = {"place": NO_LINE, "source": ""} if place is None else _where(place)
        rows.append({**where, **by_section})
    return rows


def _place(op: Op) -> Place | None:
    return None if op.place is None else op.place.whole_line


def _where(place: Place | None) -> dict[str, str]:
    return {"place": "", "source": ""} if place is None else {"place": str(place), "source": place.source}


def _state(file: Written, index: int) -> dict[str, Any]:
    pair = file.states[index]
    (var,) = (p for n, p in _inputs(file) if n == pair.input)
    told = {"type": file.told[var], "bytes": pair.initial.nbytes, "initial": value_text(pair.initial)}
    return {"name": pair.name, **told, "input": pair.input, "output": pair.output}


def constant_rows(file: Written) -> list[dict[str, Any]]:
    """Return a row for each initializer of a file with the digest of its numbers, the largest first."""
    rows = [{**_constant(name, const), "digest": array_digest(const.numpy())} for name, const in file.held.items()]
    return sorted(rows, key=lambda row: -int(row["bytes"]))


def _constant(name: str, const: Const) -> dict[str, Any]:
    size = const.type.literal_nbytes()
    value = value_text(const.numpy()) if const.is_short else ""
    return {"name": name, "type": str(const.type), "bytes": size or 0, "value": value}
