"""Compare the outputs of two files by numbers: each output's largest difference over some samples."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.audit.review.matching import paired_names
from primsplit.ir.errors import PrimsplitError

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
Runner = Callable[[Arrays], Arrays]


def compare_outputs(before: Runner, after: Runner, samples: Iterable[tuple[str, Arrays, Arrays]]) -> dict[str, Any]:
    """Run both files on samples: a label, and the inputs of each. Return a row for each output that both have.

    Outputs of other names are paired by their order. `absolute` and `relative` are the largest differences, and
    `sample` shows the first; where there is none, as shapes differ or one array has NaN or infinity where the other has
    a number, they are None and `why` tells it. `notes` has the samples that a file does not run on.
    """
    rows: dict[str, dict[str, Any]] = {}
    notes = []
    labels = []
    for label, first, second in samples:
        found = [_run(file, arrays) for file, arrays in ((before, first), (after, second))]
        failed = [v for v in found if isinstance(v, str)]
        if failed:
            which = (
                "both files" if len(failed) == 2 else "the old file" if isinstance(found[0], str) else "the new file"
            )
            notes.append(f"{label}: {which} cannot run: {failed[0]}")
            continue
        labels.append(label)
        a, b = (v for v in found if not isinstance(v, str))
        for name, other in paired_names([*a], [*b]).items():
            told = name if name == other else f"{name}, now {other}"
            _keep_largest(rows, told, label, *apart(a[name], b[other]))
    return {"outputs": [*rows.values()], "samples": labels, "notes": notes}


def _run(file: Runner, arrays: Arrays) -> Arrays | str:
    try:
        return file(arrays)
    except PrimsplitError as error:
        return error.what


def _keep_largest(
    rows: dict[str, dict[str, Any]], name: str, label: str, absolute: float | None, relative: float | None
) -> None:
    row = rows.setdefault(name, {"name": name, "absolute": 0.0, "relative": 0.0, "why": "", "sample": ""})
    if row["why"]:
        return
    if absolute is None or relative is None or not math.isfinite(absolute):
        why = "another shape" if absolute is None else "NaN or infinity in one alone"
        row.update(absolute=None, relative=None, why=why, sample=label)
        return
    if absolute > row["absolute"]:
        row.update(absolute=absolute, sample=label)
    row["relative"] = max(row["relative"], relative)


def apart(a: Array, b: Array) -> tuple[float | None, float | None]:
    """Return the largest absolute and relative difference of two arrays; None where shapes differ.

    It is infinite where one array has NaN or infinity and the other another number.
    """
    if a.shape != b.shape:
        return None, None
    x, y = (np.asarray(v, np.float64) for v in (a, b))
    is_same = (x == y) | (np.isnan(x) & np.isnan(y))
    x, y = x[~is_same], y[~is_same]
    if not x.size:
        return 0.0, 0.0
    with np.errstate(all="ignore"):
        absolute = np.abs(x - y)
        relative = absolute / np.maximum(np.abs(x), np.abs(y))
    return _largest(absolute), _largest(relative)


def _largest(distances: Array) -> float:
    return float(np.max(np.where(np.isfinite(distances), distances, np.inf)))
