"""Changes of one place: which there are, that each gives other code, and that a seed chooses the same ones."""

from pathlib import Path

import pytest

from tools.mutating.changes import changes, sample


def changed(source: str) -> set[tuple[str, str]]:
    """The kind of each change, and the source with it."""
    return {(change.kind, change.of(source)) for change in changes(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {("comparison", "x = (a >= b)"), ("boundary", "x = (a <= b)")}),
        ("x = a is b", {("comparison", "x = (a is not b)")}),
        ("x = a - b", {("operator", "x = (a + b)")}),
        ("x = -a", {("operator", "x = (a)")}),
        ("x = 7", {("constant", "x = 8")}),
        ("x = True", {("constant", "x = False")}),
        ("x = 0.5", {("constant", "x = 1.0")}),
        ("x = not a", {("not", "x = (a)")}),
        ("x = a and b", {("condition", "x = (a or b)"), ("condition", "x = (a)"), ("condition", "x = (b)")}),
        ("x = f(a, b, c)", {("arguments", "x = f(b, a, c)")}),
        ("f(a)", {("statement", "pass")}),
        ("x += a", {("statement", "pass")}),
        ("if a: x = b", {("condition", "if (not (a)): x = b")}),
        ("x = b if a else c", {("condition", "x = b if (not (a)) else c")}),
        ("def f():\n    return a", {("result", "def f():\n    return None")}),
        ("def f():\n    return a, b", {("result", "def f():\n    return (b, a)")}),
        ("x = 'ä' + f('ä', a)", {("arguments", "x = 'ä' + f(a, 'ä')")}),
    ],
)
def test_each_place_is_changed_in_each_way(source: str, expected: set[tuple[str, str]]) -> None:
    assert changed(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "'''A text: 1 < 2.'''",
        "import a",
        "x: int",
        "def f(x: A | B) -> A | B: pass",
        "raise E(1, 2)",
        "isinstance(a, B | C)",
        "max(a, b)",
        "op.Add(a, b)",
        "zip(a, strict=True)",
    ],
)
def test_texts_types_imports_and_errors_stay(source: str) -> None:
    assert {kind for kind, _ in changed(source)} <= {"statement"}


def test_a_sample_has_each_kind_one_change_a_line_and_depends_on_the_seed_alone() -> None:
    lines = ["x = a < b", "y = a - b", "z = 3", "if not a: b = c", "f(a, b)"]
    sources = {Path("one.py"): "\n".join(lines), Path("two.py"): "\n".join(reversed(lines))}
    found = sample(sources, 6, seed=1)
    assert len(found) == 6
    assert len({(path, change.line) for path, change in found}) == 6
    assert len({change.kind for _, change in found}) >= 4
    assert sample(sources, 6, seed=1) == found
    assert sample(sources, 6, seed=2) != found
    assert len(sample(sources, 100, seed=1)) == 10


def test_a_change_tells_its_line_as_it_was_and_as_it_is() -> None:
    source = "if a:\n    x = b - c\n"
    (told,) = (c.told(source) for c in changes(source) if c.kind == "operator")
    assert told == "x = b - c  ->  x = (b + c)"
