"""Finds made smaller: whatever can be left out while the fault stays the same."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from tools.fuzzing.case import Case, kept
from tools.fuzzing.trial import Outcome
from tools.fuzzing.workers import tried

ROUNDS = 200
"""The most parts that are left out of a find."""


def shrink(folder: Path) -> Outcome:
    """Make a find smaller while it shows the same fault; return what it comes to."""
    case = kept(folder)
    found = _outcomes([case])[0]
    for _ in range(ROUNDS):
        smaller = list(_smaller(case))
        outcomes = _outcomes(smaller)
        same = [k for k, each in enumerate(outcomes) if each.fault and each.key == found.key]
        if not same:
            break
        case, found = smaller[same[0]], outcomes[same[0]]
    if found.fault:
        case.keep(folder, f"{found.key}\n{found.told}")
    return found


def _outcomes(cases: list[Case]) -> list[Outcome]:
    return [outcome for _, outcome in sorted(tried(cases.__getitem__, list(range(len(cases))), 1))]


def _smaller(case: Case) -> Iterator[Case]:
    """The case without one part of it, the large parts first."""
    for place in range(2, len(case.command)):
        yield replace(case, command=[*case.command[:place], *case.command[place + 1 :]])
    try:
        model = onnx.ModelProto.FromString(case.files.get("model.onnx", b""))
    except DecodeError:
        return
    for field in FIELDS:
        for k, holder in enumerate(_holders(model)):
            for place in range(len(getattr(holder, field, ()))):
                changed = onnx.ModelProto()
                changed.CopyFrom(model)
                del getattr(_holders(changed)[k], field)[place]
                yield replace(case, files={**case.files, "model.onnx": changed.SerializeToString()})


FIELDS = ("functions", "node", "output", "value_info", "initializer", "metadata_props", "attribute", "input")


def _holders(model: onnx.ModelProto) -> list[Any]:
    """Return the messages of a model that have parts."""
    return [model, model.graph, *model.graph.node]
