"""Bodies of a model's loops whose carries change their sizes: they grow or shrink, and have gradients."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import walk
from primsplit.testing import check_grads

DOUBLING = """
agraph (double[N] x, int64 most) => (double[M] y) {
  true = Constant <value = bool {1}> ()
  y = Loop (most, true, x) <
    body = step (int64 i, bool going, double[K] v) => (bool again, double[L] next) {
      again = Identity (going)
      s = Sin (v)
      next = Concat <axis=0> (v, s)
    }
  >
}
"""

APPENDING = """
agraph (double[N, 2] x, double[2, 2] w, double[2] h) => (double[2] last, double[A, B] all, double[C] tops) {
  true = Constant <value = bool {1}> ()
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  shape = Shape <end=1> (x)
  steps = Squeeze (shape, zero)
  empty = Constant <value = double[2, 0] {}> ()
  last, all, tops = Loop (steps, true, h, empty) <
    body = step (int64 i, bool going, double[2] c, double[2, K] seen)
        => (bool again, double[2] new, double[2, L] next, double top) {
      again = Identity (going)
      row = Gather (x, i)
      mixed = MatMul (w, c)
      sum = Add (row, mixed)
      own = Tanh (sum)
      column = Unsqueeze (own, one)
      next = Concat <axis=-1> (column, seen)
      queries = Transpose (next)
      scores = MatMul (queries, own)
      weights = Softmax <axis=0> (scores)
      new = MatMul (next, weights)
      top = ReduceSum <keepdims=0> (new)
    }
  >
}
"""

SHRINKING = """
agraph (double[N] x, double w) => (double total, double[M] rest) {
  true = Constant <value = bool {1}> ()
  most = Constant <value = int64 {100}> ()
  one = Constant <value = int64[1] {1}> ()
  end = Constant <value = int64[1] {9223372036854775807}> ()
  none = Constant <value = int64[1] {0}> ()
  start = Constant <value = double {0.5}> ()
  rest, total = Loop (most, true, x, start) <
    body = step (int64 i, bool going, double[K] v, double t) => (bool again, double[L] tail, double sum) {
      tail = Slice (v, one, end)
      scaled = Mul (v, w)
      waves = Sin (scaled)
      part = ReduceSum <keepdims=0> (waves)
      both = Mul (part, t)
      sum = Add (both, part)
      length = Size (tail)
      two = Constant <value = int64 {2}> ()
      again = Greater (length, two)
    }
  >
}
"""


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_carry_that_doubles_has_a_gradient(model, most) -> None:
    loaded = model(DOUBLING)
    x = np.array([0.3, -0.7])
    expected = x
    for _ in range(most):
        expected = np.concatenate([expected, np.sin(expected)])
    np.testing.assert_allclose(loaded(x, np.int64(most)), expected, rtol=1e-12)
    check_grads(lambda x: (loaded(x, np.int64(most)) ** 3).sum(), x, order=2, symbolic=False)
    (found,) = ps.split(loaded, of="y", wrt="x").joint()(x, np.int64(most), np.ones_like(expected))[1:]
    slope, values = np.eye(2), x
    for _ in range(most):
        slope, values = (
            np.concatenate([slope, np.cos(values)[:, None] * slope]),
            np.concatenate([values, np.sin(values)]),
        )
    np.testing.assert_allclose(found, slope.sum(0), rtol=1e-12)


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_carry_that_is_appended_to_and_attended_to_has_a_gradient(model, steps) -> None:
    """As a decoder treats its past: each step sees all steps before it, and one file serves every length."""
    loaded = model(APPENDING)
    random = np.random.default_rng(steps)
    x, w, h = random.normal(size=(steps, 2)), random.normal(size=(2, 2)), random.normal(size=2)
    c, seen, tops = h, np.zeros((2, 0)), []
    for row in x:
        own = np.tanh(row + w @ c)
        seen = np.concatenate([own[:, None], seen], axis=1)
        scores = np.exp(seen.T @ own)
        c = seen @ (scores / scores.sum())
        tops.append(c.sum())
    last, everything, sums = loaded(x, w, h)
    np.testing.assert_allclose(last, c, rtol=1e-12)
    np.testing.assert_allclose(everything, seen, rtol=1e-12)
    np.testing.assert_allclose(sums, tops, rtol=1e-12)

    def loss(x, w, h):
        last, everything, tops = loaded(x, w, h)
        return (last**2).sum() + (everything**3).sum() + (tops**2).sum()

    check_grads(loss, x, w, h, order=2, symbolic=False)
    check_grads(lambda w: (loaded(x, w, h)[0] ** 2).sum(), w, order=2, symbolic=False)


GROWING_BY_SIZES = """
agraph (double[N] x, double[M] w, int64 most) => (double[A] y, double t) {
  true = Constant <value = bool {1}> ()
  zero = Constant <value = double {0.25}> ()
  y, t = Loop (most, true, x, zero) <
    body = step (int64 i, bool going, double[K] v, double c) => (bool again, double[L] next, double d) {
      again = Identity (going)
      s = Mul (w, c)
      u = Sin(v)
      q = ReduceSum <keepdims=0> (u)
      d0 = Mul(q, c)
      d = Sin(d0)
      next = Concat <axis=0> (s, v, w)
    }
  >
}
"""

GROWING_INDICES = """
agraph (double[N] x, int64 most) => (double t) {
  true = Constant <value = bool {1}> ()
  zero = Constant <value = double {0.25}> ()
  none = Constant <value = int64[0] {}> ()
  ax = Constant <value = int64[1] {0}> ()
  m, t = Loop (most, true, none, zero) <
    body = step (int64 i, bool going, int64[K] seen, double c) => (bool again, int64[L] next, double d) {
      again = Identity (going)
      col = Unsqueeze(i, ax)
      next = Concat <axis=0> (seen, col)
      rows = Gather(x, next)
      q = ReduceSum <keepdims=0> (rows)
      d0 = Mul(q, q)
      d1 = Sin(d0)
      d = Add(d1, c)
    }
  >
}
"""

GROWING_WITHIN = """
agraph (double[N] x, int64 most) => (double[M] y) {
  true = Constant <value = bool {1}> ()
  y = Loop (most, true, x) <
    body = outer (int64 i, bool going, double[K] c) => (bool again, double[L] d) {
      again = Identity (going)
      two = Constant <value = int64 {2}> ()
      e = Loop (two, going, c) <
        body = inner (int64 j, bool go, double[P] s) => (bool on, double[Q] r) {
          on = Identity (go)
          h = Sin(s)
          r = Concat <axis=0> (s, h)
        }
      >
      d = Mul(e, e)
    }
  >
}
"""


def test_a_loop_that_grows_what_the_loop_around_it_grows_is_the_loop_in_python(model) -> None:
    x = np.array([0.3, 0.7])
    wanted = x
    for _ in range(2):
        for _ in range(2):
            wanted = np.concatenate([wanted, np.sin(wanted)])
        wanted = wanted * wanted
    loaded = model(GROWING_WITHIN)
    np.testing.assert_allclose(loaded(x, np.int64(2)), wanted, rtol=1e-13)


@pytest.mark.parametrize(("rows", "more", "most"), [(2, 3, 3), (0, 1, 2), (2, 0, 2), (1, 1, 0)])
def test_a_carry_that_grows_at_both_ends_by_what_only_the_run_knows_has_a_gradient(model, rows, more, most) -> None:
    loaded = model(GROWING_BY_SIZES)
    random = np.random.default_rng(rows + more)

    def loss(x, w):
        y, t = loaded(x, w, np.int64(most))
        return (y**3).sum() + t**2

    check_grads(loss, random.normal(size=rows), random.normal(size=more), order=2, symbolic=False)


@pytest.mark.parametrize("most", [0, 1, 4])
def test_indices_that_grow_beside_what_is_differentiated_are_found_again(model, most) -> None:
    loaded = model(GROWING_INDICES)
    x = np.random.default_rng(0).normal(size=4)
    check_grads(lambda x: loaded(x, np.int64(most)), x, order=2, symbolic=False)


def test_steps_run_again_only_where_a_carry_is_not_just_appended_to(model) -> None:
    """Two Loops walk forth and back; a third one inside would run the steps before each step again."""
    loops = []
    for text, wrt in ((APPENDING, "w"), (SHRINKING, "w")):
        made = ps.split(model(text), wrt=wrt)
        loops.append([op.kind for op in walk(made.joint().block)].count("Loop"))
    assert loops == [2, 3]


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_carry_that_shrinks_until_a_condition_has_a_gradient(model, size) -> None:
    loaded = model(SHRINKING)
    x = np.random.default_rng(size).normal(size=size)

    def loss(x, w):
        total, rest = loaded(x, w)
        return total * 2.0 + (rest**2).sum()

    values, total = x, 0.5
    for _ in range(100):
        part = np.sin(values * 0.7).sum()
        values, total = values[1:], part * total + part
        if len(values) <= 2:
            break
    np.testing.assert_allclose(loaded(x, 0.7)[0], total, rtol=1e-12)
    np.testing.assert_allclose(loaded(x, 0.7)[1], values, rtol=1e-12)
    check_grads(loss, x, 0.7, order=2, symbolic=False)
    check_grads(lambda w: loaded(x, w)[0], 0.7, order=2, symbolic=False)


FEWER = """
agraph (double x, int64[K] marks) => (double y) {
  true = Constant <value = bool {1}> ()
  three = Constant <value = int64 {3}> ()
  y, left = Loop (three, true, x, marks) <
    body = step (int64 i, bool going, double v, int64[M] some) => (bool again, double next, int64[L] fewer) {
      again = Identity (going)
      count = Size (some)
      factor = Cast <to = 11> (count)
      product = Mul (v, factor)
      next = Sin (product)
      later = Greater (some, i)
      fewer = Compress <axis = 0> (some, later)
    }
  >
}
"""


def test_how_many_a_carry_has_left_is_counted_in_each_step(model) -> None:
    loaded, marks = model(FEWER), np.array([0, 1, 2, 5])
    value, gradient = ps.trace(lambda x, k: ps.value_and_grad(lambda v: loaded(v, k))(x), 0.3, marks)(0.3, marks)
    first = np.sin(4 * 0.3)
    second = np.sin(3 * first)
    np.testing.assert_allclose(value, np.sin(2 * second), rtol=1e-12)
    slopes = 4 * np.cos(4 * 0.3) * 3 * np.cos(3 * first) * 2 * np.cos(2 * second)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12)
