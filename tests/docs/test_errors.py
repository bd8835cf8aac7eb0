"""docs/errors.md: each program raises, or warns of, the very class that it stands under, and no class is missing."""

import inspect
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from primsplit import errors
from tests.test_readme import ROOT

PAGE = (ROOT / "docs" / "errors.md").read_text()
BEGIN = re.search(r"The programs begin with\n\n```python\n(.*?)```", PAGE, flags=re.DOTALL)
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))
PUBLIC = {
    name: found
    for name, found in vars(errors).items()
    if inspect.isclass(found) and issubclass(found, Exception) and found.__module__ == errors.__name__
}
ALSO = re.compile(r"[Aa]lso an? (\w+)")


def test_each_public_class_stands_on_the_page() -> None:
    assert set(SECTIONS) == set(PUBLIC)


@pytest.mark.parametrize("name", SECTIONS)
def test_a_program_raises_the_class_that_it_stands_under(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", SECTIONS[name], flags=re.DOTALL)
    assert "\nCure: " in SECTIONS[name]
    assert met(program, tmp_path / f"{name}.py") is PUBLIC[name]


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_names_the_class_of_pythons_that_an_error_is_too(name: str) -> None:
    python = [c.__name__ for c in PUBLIC[name].__bases__ if c.__module__ == "builtins" and c is not Exception]
    told = ALSO.findall(SECTIONS[name])
    assert set(told) >= {n for n in python if n != "UserWarning"}
    assert all(n in {c.__name__ for c in PUBLIC[name].__mro__} for n in told)


def met(program: str, source: Path) -> type[BaseException] | None:
    """The class of the error that ends a program, else of the one warning that it gives."""
    assert BEGIN is not None
    text = BEGIN[1] + program
    source.write_text(text)
    names: dict[str, Any] = {"__name__": source.stem}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec(compile(text, str(source), "exec"), names)
        except errors.PrimsplitError as error:
            return type(error)
    return caught[0].category if len(caught) == 1 else None
