"""Report on files for JSON: what a person reads, with every node and every statement as a row.

```
{"nodes": [{"operator": "Tanh", "inputs": [{"name": "add", "type": "float32[N,4]"}], ...}],
 "statements": [{"statement": "hidden = tanh(x @ w + b)", "nodes": [0, 1, 2], ...}], ...}
```

`schema.json` beside this module is the schema of all answers of `primsplit audit --json`.
"""

import json
from collections.abc import Sequence
from importlib.resources import files as resources
from typing import Any

from primsplit.audit.file_report import report_files
from primsplit.audit.node_rows import node_rows, ordered_ops
from primsplit.audit.shown_rows import shown_rows
from primsplit.audit.written import Written


def json_reports(files: Sequence[Written]) -> list[dict[str, Any]]:
    """Return the reports of the files of one derivative, with their nodes and their statements as mathematics."""
    return [
        {**report, "nodes": node_rows(file), "statements": statement_rows(file)}
        for report, file in zip(report_files(files), files, strict=True)
    ]


def statement_rows(file: Written) -> list[dict[str, Any]]:
    """Return a row for each statement; `nodes` are the positions of its nodes among the rows of nodes."""
    positions = {op: i for i, op in enumerate(ordered_ops(file))}
    rows = []
    for row in shown_rows(file):
        place = row.op.place
        where = {"place": "", "source": ""} if place is None else {"place": str(place), "source": place.source}
        told = {"statement": row.text, "depth": row.depth, "section": row.section, "function": row.function}
        nodes = sorted({positions[op] for op in row.ops})
        rows.append({**told, **where, "rule": row.op.remark, "note": row.note, "nodes": nodes})
    return rows


def schema_text() -> str:
    """Return the JSON schema of the answers, draft 2020-12."""
    return (resources("primsplit.audit") / "schema.json").read_text(encoding="utf-8")


def schema() -> Any:
    """Return the JSON schema, read."""
    return json.loads(schema_text())
