"""States that a folded loop's later lines read have the values and the gradients of the steps."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.rewrites.loops.repeats import fold_repeats
from tests.rewrites.loops.folding import fold_small_programs

pytestmark = pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")


COUNT = 90
READ = {
    "one state": lambda seen: seen[COUNT // 2].sum() * seen[3].mean(),
    "stack": lambda seen: np.sum(np.stack(seen) ** 2),
    "stack of a part": lambda seen: np.mean(np.stack(seen[4:-7], axis=1) ** 3),
    "stack behind": lambda seen: np.sum(np.stack(seen, axis=-1)[..., 1:] ** 2),
    "concatenation": lambda seen: np.std(np.concatenate(seen)) + np.max(np.concatenate(seen, axis=1)),
    "two of each": lambda seen: np.sum(np.stack(seen + seen) ** 2),
    "sum": lambda seen: sum((state * state).sum() for state in seen),
    "numbers": lambda seen: np.mean(np.array([state.sum() for state in seen]) * np.arange(COUNT)),
    "backwards": lambda seen: sum(np.exp(state).sum() * (1 + 0.1 * t) for t, state in enumerate(seen[::-1])),
    "each second": lambda seen: np.std(np.concatenate(seen[1::2])) + np.std(np.concatenate(seen[::-3])),
    "neighbours": lambda seen: sum((seen[t] * seen[t - 1]).sum() for t in range(1, COUNT)),
}


def decays(read):
    def f(x, y):
        seen = []
        for _ in range(COUNT):
            x = np.tanh(x) * y + 0.1 * np.sin(x)
            seen.append(x)
        return read(seen)

    return f


X, Y = np.array([[0.3, -1.2, 0.8], [2.0, 0.1, -0.4]]), np.array([1.05, 0.9, -0.95])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_states_that_are_read_behind_a_loop_are_rows_of_its_scan(read, monkeypatch) -> None:
    f = decays(read)
    expected = ps.split(f, X, Y, seed="ones").joint()(X, Y)
    fold_small_programs(monkeypatch)
    block = fold_repeats(ps.trace(f, X, Y).block)
    assert [op.kind for op in walk(block)].count("Scan") in {1, 2}
    assert len(block.ops) < 3 * COUNT
    made = ps.split(f, X, Y, seed="ones").joint()
    assert "Scan" in {op.kind for op in walk(made.block)}
    got = made(X, Y)
    assert got[0] == pytest.approx(f(X, Y), rel=1e-12)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_states_that_are_read_in_no_order_keep_the_steps(monkeypatch) -> None:
    order = np.random.default_rng(0).permutation(COUNT)
    fold_small_programs(monkeypatch)
    program = ps.trace(decays(lambda seen: np.std(np.stack([seen[t] for t in order]))), X, Y)
    assert fold_repeats(program.block) is program.block
