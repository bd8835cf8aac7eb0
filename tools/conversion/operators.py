"""Python's operators, on traced numbers and arrays."""

from typing import Any

import numpy as np

from tools.conversion.rows import Row, Section

TABLE = np.array([0.5, -1.0, 2.0, 0.25])


def arithmetic(x: Any) -> Any:
    y = (x + 2) * x - x / 3 + 2**x + (-x) ** 2 + +x
    return y + x // 0.4 + x % 0.4


def products(x: Any) -> Any:
    return (x @ x) * np.sum(x @ np.ones((2, 2)))


def bits(n: Any) -> Any:
    return np.sum(((n << 2) | (n >> 1)) ^ (n & 3) ^ ~n)


def in_place(x: Any) -> Any:
    y = x * 1.0
    y += x
    y *= x
    y -= 1.0
    y /= 2.0
    return np.sum(y**2)


def comparisons(x: Any) -> Any:
    return (x > 0) + 2 * (x <= 1) + 4 * (x == 1.3) + 8 * (x != 2) + 16 * (x >= 1) + x + (x < 3)


def a_chain(x: Any) -> Any:
    return x * x if 0 < x < 2 else x


def and_or_not(x: Any) -> Any:
    return x * x if (x > 1 or x < -2) and not x > 5 else x


def a_value_by_or(x: Any) -> Any:
    scale = (x > 0 and x) or 2.0
    return scale * x


def is_none(x: Any, scale: Any = None) -> Any:
    return x if scale is None and x is not None else 2 * x


def is_of_two_objects(x: Any) -> Any:
    a, b = [x], [2 * x]
    held = a if x > 0 else b
    return x * x if held is a else x


def membership(x: Any) -> Any:
    return x if x in [1.3, 2.0] and x not in (3.0, 4.0) else -x


def membership_in_a_set(x: Any) -> Any:
    return x if x in {1.3, 2.0} else -x


def an_element(x: Any) -> Any:
    order = np.argsort(x)
    return TABLE[order[0]] * x[1] + np.sum(TABLE[order] * x) + np.sum(x[::-1][:1])


def an_index_of_a_list(x: Any) -> Any:
    parts = [x[0], 2 * x[1]]
    return parts[np.argmax(x)]


def a_mask(x: Any) -> Any:
    return np.sum(x[x > 0] ** 2)


def a_format(x: Any) -> Any:
    print(f"x is {x:.2f}, {x!r}")
    return x * x


def a_text_that_decides(x: Any) -> Any:
    return x if str(x).startswith("-") else 2 * x


OPERATORS = Section(
    "Operators",
    "Each operator asks one of ours, so that arrays of yours can be indexed by traced numbers, and methods of your "
    "classes are converted.",
    [
        Row("`+ - * / // % **`", arithmetic),
        Row("`@`", products, at=[np.array([0.3, -0.7]), np.array([1.0, 2.0])]),
        Row("`<< >> & | ^ ~` of integers", bits, at=[np.array([6, -3])], smooth=False),
        Row("`+=` and its like", in_place, at=[np.array([0.3, -0.7])]),
        Row("`< <= == != >= >`", comparisons),
        Row("`a < b < c`", a_chain, ifs=2),
        Row("`and`, `or`, `not` in a test", and_or_not, ifs=3),
        Row("`a or b` as a value", a_value_by_or, ifs=1),
        Row("`is None`, `is not None`", is_none),
        Row("`is` of objects that a branch chose", is_of_two_objects, ifs=1),
        Row("`in` and `not in` a list", membership, at=[1.3, -0.7], smooth=False, ifs=1),
        Row("`in` a set or a dictionary", membership_in_a_set, refused="a hash was asked of a value"),
        Row("elements and slices of arrays", an_element, at=[np.array([0.3, -0.7]), np.array([1.0, 2.0])]),
        Row(
            "an element of a list by a traced index",
            an_index_of_a_list,
            at=[np.array([0.3, -0.7]), np.array([1.0, 2.0])],
        ),
        Row("a mask", a_mask, at=[np.array([0.3, -0.7]), np.array([1.0, 2.0])]),
        Row("a text that is printed", a_format),
        Row("a text that decides", a_text_that_decides, refused="the text was asked of a value"),
    ],
)
