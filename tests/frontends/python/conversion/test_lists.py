"""Lists of joined branches to which one side alone appends."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ConcretizationError
from primsplit.tracing.branching import exploring, paths
from tests.frontends.python.conversion.test_kinds import slopes

rng = np.random.default_rng(13)


def crossings(x):
    events = []
    for k in range(1, len(x)):
        rise = x[k] - x[k - 1]
        if x[k - 1] < 0 <= x[k]:
            events.append(k - x[k] / rise)
    if not events:
        return x[0]
    return sum(events) / len(events) + 0.1 * events[-1] * events[0]


def best_run(x):
    best: float = 0.0
    run: list[float] = []
    for value in x:
        if value > 0:
            run.append(value)
        else:
            if sum(run) > best:
                best = sum(run) * len(run)
            run = []
    return best + sum(run)


def spread(x):
    kept = [x[0], x[1]]
    for value in x[2:]:
        if abs(value - np.mean(kept)) < 1.5:
            kept.append(value * 1.0)
    return np.std(kept) + max(kept) - 0.5 * min(kept) + np.array(kept)[0]


def weighted_by_the_place(x):
    kept = []
    for value in x:
        if value < -0.4:
            continue
        kept.append(value)
        if len(kept) > 5:
            break
    total, place = 0.0, 1
    for value in kept:
        if value > 1.5:
            break
        total += value * place
        place += 1
    return total if kept else x[0]


def of_pairs(x):
    hits = []
    for k, value in enumerate(x):
        if value > 0.3:
            hits.append((k, value**2))
    total = 0.0
    for k, square in hits:
        total += k * square
    return total + x[0] * len(hits)


def iterates(x):
    history, now = [], 1.0
    for value in x:
        now = 0.6 * now + 0.3 * value
        if abs(now) < 0.1:
            break
        history.append(now)
    return (history[-1] if len(history) > 1 else x[0]) * len(history)


def chosen(x):
    value = 7.0
    kept = [(k, np.sin(value)) for k, value in enumerate(x) if value > 0.2 and k > 1]
    squares = [value**2 for value in x if value < 0]
    total = value * len(squares) + sum(squares)
    for k, sine in kept:
        total += k * sine
    return total


FUNCTIONS = [chosen, crossings, best_run, spread, weighted_by_the_place, of_pairs, iterates]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_side_may_append(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    both = ps.value_and_grad(function)
    for x in (*rng.normal(size=(20, 12)), np.linspace(0.5, 0.9, 12), np.linspace(-0.5, -0.9, 12)):
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, slopes(function, x), rtol=1e-5, atol=1e-6)


def test_an_element_that_is_not_there_fails_in_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def second_last(x):
        kept = []
        for value in x:
            half = value / 2
            if value > 0:
                kept.append(2 * half)
        return kept[-2]

    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    monkeypatch.setattr(paths, "MOST", 17)
    program = ps.trace(second_last, np.ones(12))
    assert program(np.arange(12.0)) == 10.0
    for count in (0, 1):
        with pytest.raises(ps.PrimsplitError):
            program(np.concatenate([np.ones(count), -np.ones(12 - count)]))


def nearest(x):
    gaps = [abs(value - 0.3) for value in x]
    return gaps[int(np.argmin(gaps))] * x[0]


def labelled(x):
    means = [x[0], x[1], (x[2] + x[3]) / 2]
    for _ in range(2):
        sums, counts = [0.1, 0.2, 0.3], [1, 1, 1]
        labels = [int(np.argmin([(value - mean) ** 2 for mean in means])) for value in x]
        for k in range(3):
            for value, label in zip(x, labels, strict=True):
                if label == k:
                    sums[k] += value
                    counts[k] += 1
        means = [total / count for total, count in zip(sums, counts, strict=True)]
    return means[labels[4]] - means[labels[-1]] ** 2


def best_path(x):
    scores, back = [x[0], x[1], x[2]], []
    for step in x.reshape(-1, 3)[1:]:
        new, came = [], []
        for k in range(3):
            best, last = scores[0] - 0.3 * k, 0
            for other in range(1, 3):
                score = scores[other] - 0.2 * abs(other - k)
                if score > best:
                    best, last = score, other
            new.append(best + step[k])
            came.append(last)
        scores = new
        back.append(came)
    place = int(np.argmax(scores))
    total = scores[place]
    for came in reversed(back):
        place = came[place]
        total += 0.1 * x[3 + place]
    return total


def of_tuples(x):
    pairs = ((x[0], 1), (x[1] ** 2, 2), (x[2] * x[3], 3))
    value, weight = pairs[int(np.argmax(x[:3])) - 1]
    return value * weight


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", [nearest, labelled, best_path, of_tuples])
def test_a_list_of_numbers_has_an_index_that_only_the_run_knows(function: Callable[..., Any]) -> None:
    both = ps.value_and_grad(function)
    for x in rng.normal(size=(20, 12)):
        value, gradient = both(x)
        np.testing.assert_allclose(value, function(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, slopes(function, x), rtol=1e-5, atol=1e-6)


def test_an_index_that_a_list_has_not_fails_in_the_run() -> None:
    def beyond(x):
        return [x[0], x[1], x[2]][int(np.argmax(x)) + 1]

    program = ps.trace(beyond, np.ones(3))
    assert program(np.array([3.0, 4.0, 5.0][::-1])) == 4.0
    with pytest.raises(ps.PrimsplitError):
        program(np.array([3.0, 4.0, 5.0]))


def shown_elsewhere(x):
    kept, total = [], 0.0
    same = kept
    for value in x:
        if value > 0:
            kept.append(value)
        total += len(same) * value
    return total


def grows_while_it_is_walked(x):
    kept = [x[0]]
    for value in kept:
        if value > 0 and len(kept) < 12:
            kept.append(x[len(kept)])
    return sum(kept)


def of_arrays(x):
    row, kept = x[:2] * 1.0, []
    for value in x:
        if value > 0:
            kept.append(row)
        row[0] += value
    return sum(np.sum(each) for each in kept)


def of_texts(x):
    kept, total = [], 0.0
    for value in x:
        if value > 0:
            kept.append("up")
        total += value * len(kept)
    return total


def of_none(x):
    kept, total = [], 0.0
    for value in x:
        if value > 0:
            kept.append(None)
        total += value * len(kept)
    return total


def of_two_kinds(x):
    kept, total = [], 0.0
    for value in x:
        if value > 0:
            kept.append(value)
        elif value < -0.5:
            kept.append((value, 1.0))
        total += value * len(kept)
    return total


def popped(x):
    kept = [x[0]]
    for value in x:
        if value > 0:
            kept.append(value)
        elif kept:
            kept.pop()
    return sum(kept)


def pairs_as_an_array(x):
    kept = [(x[0], 1.0)]
    for value in x:
        half = value / 2
        if value > 0:
            kept.append((2 * half, 2.0))
    return np.array(kept)[0, 0] * np.sum(kept)


def walked_and_made_anew(x):
    kept, total = [], 0.0
    for value in x:
        half = value / 2
        if value > 0:
            kept.append(2 * half)
    for value in kept:
        total += value * len(kept)
        kept = [1.0]
    return total


def raises_where_it_is_empty(x):
    kept = []
    for value in x:
        half = value / 2
        if value > 0:
            kept.append(2 * half)
    try:
        return kept[0]
    except IndexError:
        return x[0]


def given_a_list(x, kept=(1.0, 2.0)):
    kept = [*kept]
    for value in x:
        if value > 0:
            kept.append(value)
    return sum(kept)


OTHERS = [
    given_a_list, shown_elsewhere, grows_while_it_is_walked, of_arrays, of_texts, of_none, of_two_kinds, popped,
    pairs_as_an_array, walked_and_made_anew, raises_where_it_is_empty,
]  # fmt: skip


@pytest.mark.parametrize("function", OTHERS)
def test_other_lists_are_right_or_refused(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST", 17)
    for module in (paths, exploring):
        monkeypatch.setattr(module, "FEW", 16)
    for x in (*rng.normal(size=(4, 12)), np.full(12, -2.0)):
        try:
            found = ps.trace(function, x)(x)
        except ConcretizationError:
            return
        except ps.PrimsplitError:
            assert function is raises_where_it_is_empty
            continue
        np.testing.assert_allclose(found, function(x), rtol=1e-12)
