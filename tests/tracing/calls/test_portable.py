"""A fingerprint as a text: the same in another process, another where what it stands for differs."""

import collections
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

from primsplit.ir.caching.fingerprint import Same, fingerprint
from primsplit.ir.notation.encoding import Unstorable
from primsplit.tracing import trees
from primsplit.tracing.calls.portable import References, portable, read_structure, told_structure

SCALE = 2.0
SOURCE = 'def f(x): return np.tanh(x) + scipy.special.erf(x) * [1.5, {2, 3}, "a", None][0]'
SCRIPT = f"""
import numpy as np, scipy.special
from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.tracing.calls.portable import portable
exec(compile({SOURCE!r}, "f.py", "exec"))
print(portable(fingerprint(f)))
"""


def test_another_process_has_the_same_text_for_the_same_function() -> None:
    names: dict[str, Any] = {"np": np, "scipy": scipy, "__name__": "__main__"}
    exec(compile(SOURCE, "f.py", "exec"), names)
    made = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert portable(fingerprint(names["f"])) == made.stdout.strip()


def scaled(x: Any) -> Any:
    return x * SCALE


def test_what_a_function_reads_is_part_of_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    before = portable(fingerprint(scaled))
    assert portable(fingerprint(scaled)) == before
    monkeypatch.setitem(scaled.__globals__, "SCALE", 3.0)
    assert portable(fingerprint(scaled)) != before


def test_different_things_have_different_texts() -> None:
    values: list[Any] = [
        None, True, 1, 1.0, "1", b"1", (1,), (1, 2), frozenset({1}), Same(np.sin), Same(np.cos),
        Same(scipy.special.erf), Same(np), Same(np.ndarray), Same(np.float64), np.dtype("float32"),
        np.dtype("float64"), Ellipsis, Same(len),
    ]  # fmt: skip
    texts = [portable(v) for v in values]
    assert len(set(texts)) == len(values)
    assert portable(frozenset({"a", "b", "c"})) == portable(frozenset({"c", "b", "a"}))


def test_an_object_that_no_name_leads_to_has_no_text() -> None:
    with pytest.raises(Unstorable, match="it reads a Generator, which other processes have no name for"):
        portable(Same(np.random.default_rng(0)))
    nested: Any = ()
    for _ in range(200):
        nested = (nested,)
    with pytest.raises(Unstorable, match="nested without end"):
        portable(nested)


class Pair(NamedTuple):
    """A named tuple of a user's."""

    first: Any
    second: Any


@dataclass
class Layer:
    """A dataclass of a user's."""

    w: Any
    b: Any


Other = collections.namedtuple("Other", "x")


@pytest.mark.parametrize(
    "tree",
    [1, [1, (2, None)], {"b": 1, "a": [2]}, Pair(1, [2, 3]), (), []],
    ids=str,
)
def test_a_structure_is_written_and_read_again(tree: Any) -> None:
    spec = trees.flatten(tree)[1]
    references = References([Pair, Layer])
    assert read_structure(told_structure(spec, references), references) == spec


def test_a_class_that_the_function_does_not_read_has_no_reference() -> None:
    references = References([Pair])
    assert references.tell(Pair) == 0
    assert references.find(0) is Pair
    with pytest.raises(Unstorable, match="Other, which it does not read by a name"):
        references.tell(Other)
    own = references.tell(trees)
    assert references.find(own) is trees
    with pytest.raises(LookupError, match="no module of this package"):
        references.find(["os", "path"])
    with pytest.raises(LookupError):
        references.find(["primsplit.tracing", "no_such_name"])
