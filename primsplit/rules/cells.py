"""Backward passes of recurrent cells along one sequence, forward in time.

Sequences x [T, N, I], y [T, N, H]; w [G H, I], r [G H, H] for G gates; b [2 G H], the biases of w and r; states
[N, H]. Each returns the cotangents of x, w, r, b, the initial states, and what else the cell has.
"""

from collections.abc import Callable, Sequence

from primsplit.array import Array
from primsplit.broadcasting import reshape_to
from primsplit.ir import Type
from primsplit.numpy.dense.loop import loop
from primsplit.ops import op
from primsplit.primitive import primitive
from primsplit.rules.indexing import size_scalar

Gradients = tuple[Array, ...]


def flipped(x: Array) -> Array:
    """A sequence in the other order of time."""
    return op.Slice(x, [-1], [-(2**62)], [0], [-1], types=[x.type])


def starts(y: Array, first: Array) -> Array:
    """What each step starts from: `first`, then the sequence without its end."""
    rest = op.Slice(y, [0], [-1], [0])
    return op.Concat(op.Unsqueeze(first, [0]), rest, axis=0, types=[y.type])


def parts(x: Array, count: int, axis: int = -1) -> tuple[Array, ...]:
    """Equal parts along an axis of literal size."""
    size = x.shape[axis]
    each = size // count if isinstance(size, int) else 0
    found: tuple[Array, ...] = op.Split(x, [each] * count, axis=axis) if count > 1 else (x,)
    return found


def transposed(x: Array) -> Array:
    """A matrix transposed."""
    return op.Transpose(x, perm=[1, 0])


def rows(x: Array) -> Array:
    """A sequence [T, N, size] as a matrix."""
    return reshape_to(x, (x.shape[0] * x.shape[1], x.shape[2]))


def over_time(a: Array, x: Array) -> Array:
    """The sum over all steps of a^T x."""
    return op.MatMul(transposed(rows(a)), rows(x))


def total(a: Array) -> Array:
    """The sum over all steps."""
    return op.ReduceSum(a, [0, 1], keepdims=0)


def backwards(factors: Sequence[Array], step: Callable[..., Gradients], carries: Sequence[Array]) -> list[Array]:
    """A loop from the last step to the first: `step(carries, factors at the step)` gives carries, then a row to keep.

    Returns the carries, then the rows in the order of time.
    """
    count = factors[0].shape[0]
    packed = op.Concat(*factors, axis=2) if len(factors) > 1 else factors[0]
    last = op.Sub(size_scalar(count), 1)
    kept = len(carries)

    def body(i: Array, *held: Array) -> tuple[Sequence[Array], Sequence[Array]]:
        here = parts(op.Gather(packed, op.Sub(last, i), axis=0), len(factors))
        found = step(held, here)
        return found[:kept], found[kept:]

    made = loop(size_scalar(count), body, carries)
    rest = [op.Identity(c, types=[Type(c.dtype, (count, *c.shape[1:]))]) for c in made[kept:]]
    return [*made[:kept], *map(flipped, rest)]


@primitive
def rnn_backward(
    x: Array, w: Array, r: Array, b: Array, h: Array, y: Array, dy: Array, dh: Array, *, activation: str
) -> Gradients:
    """y_t = f(x_t w^T + y_(t-1) r^T + b), whose slope is a function of y."""
    slope = op.Sub(1.0, op.Mul(y, y)) if activation == "tanh" else op.Cast(op.Greater(y, 0.0), to=y.dtype)

    def step(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        a = op.Mul(op.Add(here[0], held[0]), here[1])
        return op.MatMul(a, r), a

    d_h, a = backwards([dy, slope], step, [dh])
    bias = total(a)
    return op.MatMul(a, w), over_time(a, x), over_time(a, starts(y, h)), op.Concat(bias, bias, axis=0), d_h


@primitive
def gru_backward(
    x: Array, w: Array, r: Array, b: Array, h: Array, y: Array, dy: Array, dh: Array, *, is_linear_first: bool
) -> Gradients:
    """The update z, the reset r and the proposal p: y_t = (1 - z) p + z y_(t-1); the reset acts on y or on y r^T."""
    before = starts(y, h)
    b_w, b_r = parts(b, 2)
    r_z, r_r, r_p = parts(r, 3, axis=0)
    r_zr = op.Concat(r_z, r_r, axis=0)
    from_z, from_r, from_p = parts(op.Add(op.MatMul(x, transposed(w)), b_w), 3)
    b_z, b_reset, b_p = parts(b_r, 3)
    z = op.Sigmoid(op.Add(op.Add(from_z, op.MatMul(before, transposed(r_z))), b_z))
    reset = op.Sigmoid(op.Add(op.Add(from_r, op.MatMul(before, transposed(r_r))), b_reset))
    if is_linear_first:
        seen = op.Add(op.MatMul(before, transposed(r_p)), b_p)
        p = op.Tanh(op.Add(from_p, op.Mul(reset, seen)))
    else:
        seen = before
        p = op.Tanh(op.Add(op.Add(from_p, op.MatMul(op.Mul(reset, before), transposed(r_p))), b_p))
    in_p = op.Mul(op.Sub(1.0, z), op.Sub(1.0, op.Mul(p, p)))
    in_z = op.Mul(op.Sub(before, p), op.Mul(z, op.Sub(1.0, z)))
    in_r = op.Mul(seen, op.Mul(reset, op.Sub(1.0, reset)))

    def step(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        dy_t, in_p_t, in_z_t, in_r_t, reset_t, z_t = here
        d = op.Add(dy_t, held[0])
        a_p, a_z = op.Mul(d, in_p_t), op.Mul(d, in_z_t)
        if is_linear_first:
            a_r = op.Mul(a_p, in_r_t)
            back = op.MatMul(op.Mul(a_p, reset_t), r_p)
        else:
            through = op.MatMul(a_p, r_p)
            a_r = op.Mul(through, in_r_t)
            back = op.Mul(through, reset_t)
        a_zr = op.Concat(a_z, a_r, axis=1)
        return op.Add(op.Add(op.Mul(d, z_t), back), op.MatMul(a_zr, r_zr)), op.Concat(a_zr, a_p, axis=1)

    d_h, a = backwards([dy, in_p, in_z, in_r, reset, z], step, [dh])
    a_z, a_r, a_p = parts(a, 3)
    into_p = op.Mul(a_p, reset) if is_linear_first else a_p
    read_p = before if is_linear_first else op.Mul(reset, before)
    d_r = op.Concat(over_time(op.Concat(a_z, a_r, axis=2), before), over_time(into_p, read_p), axis=0)
    d_b = op.Concat(total(a), total(op.Concat(a_z, a_r, into_p, axis=2)), axis=0)
    return op.MatMul(a, w), over_time(a, x), d_r, d_b, d_h


@primitive
def lstm_backward(
    x: Array, w: Array, r: Array, b: Array, h: Array, c: Array, p: Array, y: Array, dy: Array, dh: Array, dc: Array
) -> Gradients:
    """Gates i, o, f and proposal g: c_t = f c_(t-1) + i g, y_t = o tanh(c_t); peepholes p of i, o and f read c."""
    before = starts(y, h)
    given = op.Add(op.MatMul(x, transposed(w)), op.MatMul(before, transposed(r)))
    b_w, b_r = parts(b, 2)
    in_i, in_o, in_f, in_g = parts(op.Add(given, op.Add(b_w, b_r)), 4)
    p_i, p_o, p_f = parts(p, 3)
    g = op.Tanh(in_g)
    cells = _cells(in_i, in_f, g, c, p_i, p_f)
    earlier = starts(cells, c)
    i = op.Sigmoid(op.Add(in_i, op.Mul(earlier, p_i)))
    f = op.Sigmoid(op.Add(in_f, op.Mul(earlier, p_f)))
    o = op.Sigmoid(op.Add(in_o, op.Mul(cells, p_o)))
    shown = op.Tanh(cells)

    def step(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        dy_t, of_o, of_c, of_i, of_f, of_g, f_t = here
        d = op.Add(dy_t, held[0])
        a_o = op.Mul(d, of_o)
        d_cell = op.Add(op.Add(held[1], op.Mul(d, of_c)), op.Mul(a_o, p_o))
        a_i, a_f = op.Mul(d_cell, of_i), op.Mul(d_cell, of_f)
        a = op.Concat(a_i, a_o, a_f, op.Mul(d_cell, of_g), axis=1)
        peeped = op.Add(op.Mul(a_i, p_i), op.Mul(a_f, p_f))
        return op.MatMul(a, r), op.Add(op.Mul(d_cell, f_t), peeped), a

    factors = [
        dy,
        op.Mul(shown, _slope(o)),
        op.Mul(o, op.Sub(1.0, op.Mul(shown, shown))),
        op.Mul(g, _slope(i)),
        op.Mul(earlier, _slope(f)),
        op.Mul(i, op.Sub(1.0, op.Mul(g, g))),
        f,
    ]
    d_h, d_c, a = backwards(factors, step, [dh, dc])
    bias = total(a)
    a_i, a_o, a_f, _ = parts(a, 4)
    d_p = op.Concat(*(total(op.Mul(n, m)) for n, m in ((a_i, earlier), (a_o, cells), (a_f, earlier))), axis=0)
    d_b = op.Concat(bias, bias, axis=0)
    return op.MatMul(a, w), over_time(a, x), over_time(a, before), d_b, d_h, d_c, d_p


def _slope(gate: Array) -> Array:
    return op.Mul(gate, op.Sub(1.0, gate))


def _cells(in_i: Array, in_f: Array, g: Array, c: Array, p_i: Array, p_f: Array) -> Array:
    """The cell states, which the operator does not give."""
    packed = op.Concat(in_i, in_f, g, axis=2)

    def body(t: Array, held: Array) -> tuple[Sequence[Array], Sequence[Array]]:
        i, f, proposal = parts(op.Gather(packed, t, axis=0), 3)
        kept = op.Mul(op.Sigmoid(op.Add(f, op.Mul(held, p_f))), held)
        new = op.Add(kept, op.Mul(op.Sigmoid(op.Add(i, op.Mul(held, p_i))), proposal))
        return [new], [new]

    _, cells = loop(size_scalar(g.shape[0]), body, [c])
    return op.Identity(cells, types=[g.type])
