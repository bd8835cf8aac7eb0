"""Every public name says what it is, and the examples in what it says are right."""

import doctest
import inspect
from typing import Any

import numpy as np
import pytest

import primsplit as ps

PUBLIC: dict[str, Any] = {name: getattr(ps, name) for name in ps.__all__}
PUBLIC |= {f"random.{name}": getattr(ps.random, name) for name in ps.random.__all__}
EXAMPLES = {
    name: found
    for name, value in PUBLIC.items()
    for found in [doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", {}, name, None, 0)]
    if found.examples
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name])
    assert text is not None
    assert len(text.split()) > 3


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_what_it_says(name: str) -> None:
    told: list[str] = []
    example = EXAMPLES[name]
    example.globs = {"np": np, "ps": ps}
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)
