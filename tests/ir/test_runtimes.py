"""Runtimes are read from texts, and tell which faults they have."""

from typing import Any

import pytest

from primsplit.ir import runtimes
from primsplit.ir.errors import SpecError
from primsplit.ir.runtimes import FAULTS, OLDEST, Runtime, cured_by, fault, known_fault, read_target


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fault but those that a test records."""
    monkeypatch.setattr(runtimes, "FAULTS", {})


def record(name: str, before: str | None, **more: Any) -> None:
    known_fault(name, kind="wrong", operators=("Add",), says="It is wrong.", before=before, **more)


@pytest.mark.parametrize(
    ("text", "oldest"),
    [("onnxruntime>=1.32", (1, 32)), (" onnxruntime >= 1.31.1 ", (1, 31, 1)), ("onnxruntime>=2.0", (2, 0))],
)
def test_a_target_names_a_runtime_and_its_oldest_version(text: str, oldest: tuple[int, ...]) -> None:
    assert read_target(text) == Runtime("onnxruntime", oldest)


def test_without_a_target_files_are_for_all_versions() -> None:
    assert str(read_target(None)) == "onnxruntime>=1.20"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("onnxruntime", "names no runtime and its oldest version"),
        ("onnxruntime==1.32", "names no runtime and its oldest version"),
        ("onnxruntime>=1", "names no runtime and its oldest version"),
        ("onnxruntime>=1.32rc1", "names no runtime and its oldest version"),
        ("", "names no runtime and its oldest version"),
        (1.32, "names no runtime and its oldest version"),
        ("tensorrt>=10.0", "files are written for onnxruntime only"),
        ("onnxruntime>=1.19", "files do not run before onnxruntime 1.20"),
    ],
)
def test_another_target_is_refused_with_the_right_form(text: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told) as caught:
        read_target(text)
    assert 'target="onnxruntime>=1.32"' in str(caught.value)


@pytest.mark.parametrize(
    ("before", "target", "has"),
    [
        (None, "onnxruntime>=1.32", True),
        ("1.31", "onnxruntime>=1.30", True),
        ("1.31", "onnxruntime>=1.30.2", True),
        ("1.31", "onnxruntime>=1.31", False),
        ("1.31", "onnxruntime>=1.31.1", False),
        ("1.9", "onnxruntime>=1.20", False),
    ],
)
@pytest.mark.usefixtures("alone")
def test_a_runtime_has_what_is_not_mended_in_its_oldest_version(before: str | None, target: str, has: bool) -> None:
    record("some", before)
    assert read_target(target).has("some") is has


@pytest.mark.usefixtures("alone")
def test_a_fault_of_another_runtime_is_none_of_this_one() -> None:
    record("some", None, runtime="another")
    assert not OLDEST.has("some")


@pytest.mark.usefixtures("alone")
def test_a_function_knows_the_faults_that_it_works_around_and_each_has_one_name() -> None:
    several = {"kind": "refuses", "operators": ("Add",), "says": "It is refused."}

    @fault("first", **several)
    @fault("second", **several, before="1.30")
    def around() -> None:
        """Nothing."""

    assert [found.name for found in cured_by(around)] == ["first", "second"]
    assert runtimes.FAULTS["second"].cure.endswith("around")
    with pytest.raises(ValueError, match="two faults 'first'"):
        record("first", None)
    assert FAULTS is not runtimes.FAULTS
