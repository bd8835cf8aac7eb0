"""Steps that read values of their own become a Scan over these values."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.rewrites.loops.repeats import MUCH, fold_repeats
from tests.rewrites.loops.folding import fold_small_programs

pytestmark = pytest.mark.filterwarnings("ignore::primsplit.ir.errors.UnrolledLoopWarning")


COUNT, R = 140, np.random.default_rng(0)
X, MATRICES, SERIES = (
    R.normal(size=(2, 3)),
    [0.4 * R.normal(size=(3, 3)) for _ in range(COUNT)],
    R.normal(size=(2, COUNT)),
)


def of_parameters(x, matrices, series):
    for matrix in matrices:
        x = np.tanh(x @ matrix) + 0.1 * x
    return np.sum(x * series[:, 0, None])


def of_known_matrices(x, matrices, series):
    for matrix in MATRICES:
        x = np.tanh(x @ matrix) + 0.1 * x
    return np.sum(x * matrices[0].sum() * series.sum())


def of_computed_matrices(x, matrices, series):
    for matrix in [np.exp(-matrix) for matrix in matrices]:
        x = np.tanh(x @ matrix) + 0.1 * x
    return np.sum(x * series[0, 0])


def of_columns(x, matrices, series):
    for t in range(COUNT):
        x = np.tanh(x * matrices[0][0]) + series[:, t, None]
    return np.sum(x)


def of_rows_of_states_before(x, matrices, series):
    before = x
    for t in range(COUNT):
        x, before = np.tanh(x @ matrices[t]) + 0.3 * before, x
    return np.sum(x) * series[0, 1]


PROGRAMS = [of_parameters, of_known_matrices, of_computed_matrices, of_columns, of_rows_of_states_before]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("f", PROGRAMS)
def test_steps_with_values_of_their_own_have_the_gradients_of_the_steps(f, monkeypatch) -> None:
    args = (X, MATRICES, SERIES)
    flat = (X, *MATRICES, SERIES)
    expected = ps.split(f, *args, seed="ones").joint()(*flat)
    fold_small_programs(monkeypatch)
    kinds = [op.kind for op in walk(fold_repeats(ps.trace(f, *args).block))]
    assert kinds.count("Scan") == 1
    assert kinds.count("Tanh") < 10
    made = ps.split(f, *args, seed="ones").joint()
    assert "Scan" in {op.kind for op in walk(made.block)}
    got = made(*flat)
    assert got[0] == pytest.approx(f(*args), rel=1e-12)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_large_weights_of_their_own_keep_the_steps(monkeypatch) -> None:
    side = int((MUCH / 8) ** 0.5) + 1
    large = ps.spec("float64", [side, side])
    fold_small_programs(monkeypatch)
    program = ps.trace(of_parameters, ps.spec("float64", [2, side]), [large] * COUNT, ps.spec("float64", [2, COUNT]))
    assert fold_repeats(program.block) is program.block


def test_named_weights_keep_their_names(monkeypatch) -> None:
    def f(x):
        for n, matrix in enumerate(MATRICES):
            x = np.tanh(x @ ps.param(matrix, name=f"w{n}")) + 0.1 * x
        return x

    fold_small_programs(monkeypatch)
    program = ps.trace(f, X)
    assert fold_repeats(program.block) is program.block
