"""Places of a function's source: a file, a cell of a notebook, a text, nowhere."""

import functools
import linecache
from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section

TEXT = """
def bent(x):
    return x if x > 0 else 0.1 * x

def looked_up(x):
    return table[int(x > 0)] * x
"""


def defined(filename: str, name: str) -> Any:
    names = {"table": np.array([1.0, 3.0])}
    exec(compile(TEXT, filename, "exec"), names)
    return names[name]


def a_cell_of_a_notebook() -> Any:
    linecache.cache["<cell 1>"] = len(TEXT), None, TEXT.splitlines(keepends=True), "<cell 1>"
    return defined("<cell 1>", "looked_up")


def exec_of_a_text() -> Any:
    return defined("<string>", "bent")


def exec_of_a_text_with_elements() -> Any:
    return defined("<string>", "looked_up")


def lambdas_of_a_list() -> Any:
    return [lambda x: x, lambda x: 2 * x if x > 0 else x][1]


def a_bound_method() -> Any:
    return Scale(0.1).of


def an_object() -> Any:
    return Scale(0.1)


def a_partial() -> Any:
    return functools.partial(Scale.of, Scale(2.0))


def a_wrapped_function() -> Any:
    @functools.wraps(Scale.of)
    def scaled(x: Any) -> Any:
        return 2 * x if x > 0 else x

    return scaled


def a_cached_function() -> Any:
    return functools.lru_cache(lambda x: 2 * x if x > 0 else x)


def a_dispatching_function() -> Any:
    @functools.singledispatch
    def scaled(x: Any) -> Any:
        return 2 * x

    scaled.register(float)(lambda x: 3 * x if x > 0 else x)
    return scaled


def a_function_written_in_c() -> Any:
    return np.sinh


class Scale:
    """The owner of a method."""

    def __init__(self, below: float) -> None:
        self.below = below

    def of(self, x: Any) -> Any:
        return x if x > 0 else self.below * x

    __call__ = of


ORIGINS = Section(
    "Where a function comes from",
    "A copy needs the source of the function. Each example makes the function that is traced.",
    [
        Row("a cell of a notebook", a_cell_of_a_notebook, makes=True),
        Row("`exec` of a text", exec_of_a_text, makes=True, ifs=1),
        Row(
            "`exec` of a text, elements of an array",
            exec_of_a_text_with_elements,
            makes=True,
            refused="the source of looked_up",
        ),
        Row("one of several lambdas", lambdas_of_a_list, makes=True, ifs=1),
        Row("a bound method", a_bound_method, makes=True, ifs=1),
        Row("an object that is called", an_object, makes=True, ifs=1),
        Row("`functools.partial`", a_partial, makes=True, ifs=1),
        Row("`functools.wraps`", a_wrapped_function, makes=True, ifs=1),
        Row("`functools.lru_cache`", a_cached_function, makes=True, ifs=1),
        Row("`functools.singledispatch`", a_dispatching_function, makes=True, ifs=1),
        Row("a ufunc of NumPy's", a_function_written_in_c, makes=True),
    ],
)
