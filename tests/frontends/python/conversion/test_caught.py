"""Branches with a `try` in a side, joined into one If each: what is caught is what Python catches."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.branching import exploring, paths
from tests.numpy.agreement import check_grads

FIVE = np.array([0.61, -0.34, 0.92, 0.27, -0.71])


def partly_done_before_the_error(x):
    total, a = 0.0, x[:3] * 1.0
    for value in x:
        if value > -0.5:
            try:
                total = total + value
                a[0] = value * 2
                root = math.sqrt(value)
                a[1] = root
            except ValueError:
                total = total * 0.9
            else:
                total = total + root
            finally:
                a[2] = value
        else:
            total = total * 0.5
        total = total + np.sum(a)
    return total


def logarithm_or_square(value):
    try:
        return math.log(value)
    except ValueError:
        return value * value


def in_a_function(x):
    total = 0.0
    for value in x:
        if value > -0.4:
            total = total + logarithm_or_square(value)
            total = total + value
        else:
            total = total * 0.5
    return total


def raised_and_caught(x):
    total = 0.0
    for value in x:
        if value > -0.5:
            try:
                total = total * 1.1
                if value > 0.5:
                    total = total + 0.1
                    raise ValueError(f"{value} is too large")
                total = total + value
                if value < 0:
                    raise ValueError
                total = total + math.sqrt(value)
            except ValueError:
                total = total - value
            else:
                total = total * 0.9
            finally:
                total = total + 0.01
        else:
            total = total + 2 * value
    return total


def raised_outside_of_branches(x):
    total, count = 0.0, 0.0
    for value in x:
        try:
            if value > 0.3:
                raise ArithmeticError
            total = total + value
        except ArithmeticError:
            count = count + value * value
    return total * count


def raised_past_the_first_handler(x):
    total = 0.0
    for value in x:
        if value > -0.5:
            try:
                if value > 0.3:
                    raise KeyError
                total = total + value
            except ValueError:
                total = total * 7
            except LookupError:
                total = total - value
        total = total + 0.1
    return total


def raised_and_raised_anew(x):
    total = 0.0
    for value in x:
        if value > -0.9:
            try:
                if value > 0.95:
                    raise ValueError
                total = total + value
            except ValueError:
                if total > 0:
                    raise
        total = total + 0.1
    return total


def kept_from_before(x):
    total, last = 0.0, 0.0
    for value in x:
        if value > -0.4:
            try:
                last = math.log(value)
            except ValueError:
                total = total + 0.25
        total = total + last
    return total


def in_both_sides(x):
    total = 0.0
    for value in x:
        if value > 0:
            try:
                total = total + 1 / (value - 0.6)
            except ZeroDivisionError:
                total = total + 2
        else:
            try:
                total = total + math.acos(value) if value < -0.5 else total - math.sqrt(-value)
            except (ValueError, TypeError):
                total = 7.0 * value
    return total


def known_without_the_numbers(x):
    total, table, seen = 0.0, {"a": 1.0}, [0.0, 0.0]
    for i, value in enumerate(x):
        if value > 0:
            try:
                total = total + table["ab"[i % 2]] * x[i + 2]
            except KeyError:
                seen[0] = seen[0] + value
                total = total - value
            except IndexError:
                total = total * value
        else:
            seen[1] = value
    return total + seen[0] * seen[1]


def of_a_matrix(x):
    total, matrix = 0.0, np.outer(x, x)[:2, :2]
    for value in x:
        if value > 0:
            try:
                total = total + np.linalg.inv(matrix + value * np.eye(2))[0, 0]
            except np.linalg.LinAlgError:
                total = total + 1
        else:
            total = total * 0.5
    return total


def takes_from_an_iterator(x):
    total, numbers = 0.0, iter(range(100))
    for value in x:
        if value > -0.4:
            try:
                total = total + value * next(numbers) if value > 0.5 else total + 1
            except (ArithmeticError, ps.PrimsplitError):
                total = total - 1
    return total


def raises_in_the_try(x):
    total = 0.0
    for value in x:
        if value > 0:
            try:
                if total > 0.5:
                    raise ValueError("too much")
                total = total + value
            except ValueError:
                total = total * 0.3
        else:
            total = total * 0.5 + value
    return total


def raised_as_another_that_is_caught(x):
    total = 0.0
    for value in x:
        try:
            try:
                if value > 0.5:
                    raise ValueError("too much")
                total += value**2
            except ValueError as error:
                total += 0.1
                raise RuntimeError("no step") from error
            total *= 1.1
        except RuntimeError:
            total += value * 3
    return total


def raised_again_and_caught(x):
    total = 0.0
    for value in x:
        try:
            try:
                if value > 0.5:
                    raise ValueError("too much")
                if total > 1:
                    raise ValueError("enough")
                total += value**2
            except ValueError:
                total *= 0.9
                raise
        except ValueError:
            total += value * 3
    return total


@pytest.fixture(autouse=True)
def _few_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five numbers are 32 paths, which are more than are followed."""
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 4)


@pytest.mark.sweep(2)
@pytest.mark.parametrize(
    "function",
    [
        partly_done_before_the_error, in_a_function, kept_from_before, in_both_sides, known_without_the_numbers,
        of_a_matrix, raises_in_the_try, raised_and_caught, raised_outside_of_branches, raised_as_another_that_is_caught,
        raised_again_and_caught,
    ],
)  # fmt: skip
def test_a_side_may_try(function: Callable[..., Any]) -> None:
    check_grads(function, FIVE, symbolic=False, order=1)
    program = ps.trace(function, FIVE)
    for x in (-FIVE, FIVE[::-1].copy(), FIVE**2, np.roll(FIVE, 2)):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-11)


@pytest.mark.parametrize("function", [takes_from_an_iterator, raised_past_the_first_handler, raised_and_raised_anew])
def test_what_may_not_be_joined_is_refused_though_the_function_catches_everything(function: Callable[..., Any]) -> None:
    with pytest.raises(ps.PrimsplitError, match="without end"):
        ps.trace(function, FIVE)


class Refused(Exception):
    """An error that wants an argument."""

    def __init__(self, index):
        super().__init__(index)
        self.index = index


def raised_as_it_is(x):
    total = 0.0
    for i in range(5):
        try:
            if x[i] > 0.5:
                raise Refused(i)
            total = total + x[i]
        except Refused:
            raise
    return total


def raised_from_its_cause(x):
    total = 0.0
    for i in range(5):
        try:
            if x[i] > 0.5:
                raise Refused(i)
            total = total + x[i]
        except Refused as error:
            raise KeyError("refused") from error
    return total


@pytest.mark.parametrize("f", [raised_as_it_is, raised_from_its_cause], ids=lambda f: f.__name__)
def test_an_error_that_a_handler_raises_is_the_one_that_python_raises(f: Callable[[Any], Any]) -> None:
    for run in (ps.trace(f, FIVE), ps.grad(f)):
        with pytest.raises((Refused, KeyError)) as caught:
            f(FIVE)
        with pytest.raises(type(caught.value)) as found:
            run(FIVE)
        assert found.value.args == caught.value.args
        assert type(found.value.__cause__) is type(caught.value.__cause__)
    assert ps.grad(f)(0.5 * FIVE).tolist() == [1.0] * 5
