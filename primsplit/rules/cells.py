"""Backward passes of recurrent cells along one sequence, forward in time.

Sequences x [T, N, I], y [T, N, H]; w [G H, I], r [G H, H] for G gates; b [2 G H], the biases of w and r; states [N, H].
Each function returns the cotangents of x, w, r, b, the initial states, and the LSTM's peepholes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from primsplit.ir import Value
from primsplit.ops import op
from primsplit.rewrites.decompositions.gates import Activation, Layer, parts, turned
from primsplit.rules.faint import least_beside, may_be_faint, without_faint
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.regions import ScanForm, Walk, element, emit_scan, record

Gradients = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One direction of a layer, with all that its backward pass reads.

    `belongs` [T, N, 1] is True for steps inside of a sequence, None if all are; `ends` are the cotangents of the last
    states.
    """

    how: Layer
    activations: Sequence[Activation]
    x: Array
    w: Array
    r: Array
    b: Array
    states: Sequence[Array]
    y: Array
    dy: Array
    ends: Sequence[Array]
    belongs: Array | None

    def inside(self, a: Array, beyond: float = 0.0) -> Array:
        """Return a sequence with another number beyond its end."""
        return a if self.belongs is None else op.Where(self.belongs, a, beyond)

    @property
    def beyond(self) -> list[Array]:
        """1 for steps beyond the end of a sequence, where its cotangent passes unchanged."""
        return [] if self.belongs is None else [op.Cast(op.Not(self.belongs), to=self.x.dtype)]


def handed(back: Array, held: Array, beyond: Sequence[Array]) -> Array:
    """Return the cotangent of the state before a step: `back` through the step, and what passes by it."""
    return op.Add(back, op.Mul(held, beyond[0])) if beyond else back


def starts(y: Array, first: Array) -> Array:
    """Return the state before each step: `first`, then the sequence without its end."""
    return op.Slice(op.Concat(op.Unsqueeze(first, [0]), y, axis=0), [0], [-1], [0], types=[y.type])


def rows(x: Array) -> Array:
    """Return a sequence [T, N, size] as a matrix."""
    return reshape_to(x, (x.shape[0] * x.shape[1], x.shape[2]))


def over_time(a: Array, x: Array) -> Array:
    """Return the sum over all steps of a^T x."""
    return op.MatMul(turned(rows(a)), rows(x))


def total(a: Array) -> Array:
    """Return the sum over all steps."""
    return op.ReduceSum(a, [0, 1], keepdims=0)


def backwards(
    dy: Array, factors: Sequence[Array], step: Callable[..., Gradients], carries: Sequence[Array]
) -> list[Array]:
    """Scan from the last step to the first: `step(carries, dy and factors there)` returns carries, then rows to stack.

    Cotangents are not concatenated with their factors, so that the Scan is visibly linear in them.
    """
    if not all(may_be_faint(c.type, dy.shape[0]) for c in carries):
        return _scanned(step, carries, [dy, *factors], reverse=True)
    least = least_beside([dy, *carries], dy.dtype)

    def flushed(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        found = step(held, here)
        return (*(without_faint(a, least) for a in found[: len(carries)]), *found[len(carries) :])

    return _scanned(flushed, carries, [dy, *factors], reverse=True)


def _scanned(
    step: Callable[..., Gradients], carries: Sequence[Array], sequences: Sequence[Array], *, reverse: bool = False
) -> list[Array]:
    """Record a Scan: `step(carries, rows)` returns the next carries, then rows to stack, in the order of time."""
    count, walk = len(carries), Walk(reverse=reverse)

    def body(*given: Array) -> list[Value]:
        return [a.value for a in step(given[:count], given[count:])]

    types = [element(a.type, walk) for a in sequences]
    block = record("step", [*(c.type for c in carries), *types], body)
    form = ScanForm(block, count, (walk,) * len(sequences), (walk,) * (len(block.results) - count))
    return [Array(v) for v in emit_scan(form, [c.value for c in carries], [a.value for a in sequences])]


def _entering(run: Run, before: Array) -> Array:
    """Return the input of the gates at each step, peepholes aside: x w^T + y r^T and the biases."""
    given = op.Add(op.MatMul(run.x, turned(run.w)), op.MatMul(before, turned(run.r)))
    return op.Add(given, op.Add(*parts(run.b, 2)))


def rnn_backward(run: Run) -> Gradients:
    """y_t = f(x_t w^T + y_(t-1) r^T + b)."""
    (f,), (h,), r = run.activations, run.states, run.r
    before = starts(run.y, h)
    slope = run.inside(f.slope(None if f.is_told_by_its_value else _entering(run, before), run.y))

    def step(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        a = op.Mul(op.Add(here[0], held[0]), here[1])
        return handed(op.MatMul(a, r), held[0], here[2:]), a

    d_h, a = backwards(run.dy, [slope, *run.beyond], step, run.ends)
    bias = total(a)
    return op.MatMul(a, run.w), over_time(a, run.x), over_time(a, before), op.Concat(bias, bias, axis=0), d_h


def _gru_gates(run: Run, before: Array) -> tuple[Array, ...]:
    """The update and the reset at every step, and the slopes of the state by the proposal, the update and the reset."""
    f, g = run.activations
    b_w, b_r = parts(run.b, 2)
    r_z, r_r, r_p = parts(run.r, 3, axis=0)
    from_z, from_r, from_p = parts(op.Add(op.MatMul(run.x, turned(run.w)), b_w), 3)
    b_z, b_reset, b_p = parts(b_r, 3)
    into_z = op.Add(op.Add(from_z, op.MatMul(before, turned(r_z))), b_z)
    into_r = op.Add(op.Add(from_r, op.MatMul(before, turned(r_r))), b_reset)
    z, reset = f.value(into_z), f.value(into_r)
    if run.how.is_linear_first:
        seen = op.Add(op.MatMul(before, turned(r_p)), b_p)
        into_p = op.Add(from_p, op.Mul(reset, seen))
    else:
        seen = before
        into_p = op.Add(op.Add(from_p, op.MatMul(op.Mul(reset, before), turned(r_p))), b_p)
    p = g.value(into_p)
    in_p = op.Mul(op.Sub(1.0, z), g.slope(into_p, p))
    in_z = op.Mul(op.Sub(before, p), f.slope(into_z, z))
    in_r = op.Mul(seen, f.slope(into_r, reset))
    return z, reset, in_p, in_z, in_r


def gru_backward(run: Run) -> Gradients:
    """The update z, the reset r and the proposal p: y_t = (1 - z) p + z y_(t-1); the reset acts on y or on y r^T."""
    is_linear_first = run.how.is_linear_first
    before = starts(run.y, run.states[0])
    r_z, r_r, r_p = parts(run.r, 3, axis=0)
    r_zr = op.Concat(r_z, r_r, axis=0)
    z, reset, in_p, in_z, in_r = _gru_gates(run, before)

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

    factors = [*map(run.inside, (in_p, in_z, in_r)), reset, run.inside(z, 1.0)]
    d_h, a = backwards(run.dy, factors, step, run.ends)
    a_z, a_r, a_p = parts(a, 3)
    through_reset = op.Mul(a_p, reset) if is_linear_first else a_p
    read_p = before if is_linear_first else op.Mul(reset, before)
    d_r = op.Concat(over_time(op.Concat(a_z, a_r, axis=2), before), over_time(through_reset, read_p), axis=0)
    d_b = op.Concat(total(a), total(op.Concat(a_z, a_r, through_reset, axis=2)), axis=0)
    return op.MatMul(a, run.w), over_time(a, run.x), d_r, d_b, d_h


@dataclass(frozen=True, slots=True)
class _Gates:
    """The gates of an LSTM at every step: values i, o, f, proposal g, and their slopes."""

    i: Array
    o: Array
    f: Array
    g: Array
    of_i: Array
    of_o: Array
    of_f: Array
    of_g: Array


def lstm_backward(run: Run) -> Gradients:
    """Gates i, o, f and proposal g: c_t = f c_(t-1) + i g, y_t = o tanh(c_t); peepholes p of i, o and f read c.

    A coupled forget gate is 1 - i.
    """
    h, c, p = run.states
    r, show = run.r, run.activations[2]
    p_i, p_o, p_f = parts(p, 3)
    before = starts(run.y, h)
    entering = parts(_entering(run, before), 4)
    cells = _cells(run, entering)
    earlier = starts(cells, c)
    gates = _gates(run, entering, earlier, cells)
    show = Activation(show.name, show.alpha, show.beta)
    shown = show.value(cells)

    def step(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        dy_t, of_o, of_c, of_i, of_f, of_g, f_t = here[:7]
        d = op.Add(dy_t, held[0])
        a_o = op.Mul(d, of_o)
        d_cell = op.Add(op.Add(held[1], op.Mul(d, of_c)), op.Mul(a_o, p_o))
        a_i, a_f = op.Mul(d_cell, of_i), op.Mul(d_cell, of_f)
        a = op.Concat(a_i, a_o, a_f, op.Mul(d_cell, of_g), axis=1)
        peeped = op.Add(op.Mul(a_i, p_i), op.Mul(a_f, p_f))
        return handed(op.MatMul(a, r), held[0], here[7:]), op.Add(op.Mul(d_cell, f_t), peeped), a

    in_i = op.Sub(gates.g, earlier) if run.how.is_forget_coupled else gates.g
    through = [(shown, gates.of_o), (gates.o, show.slope(cells, shown)), (in_i, gates.of_i)]
    through += [(earlier, gates.of_f), (gates.i, gates.of_g)]
    factors = [run.inside(op.Mul(value, slope)) for value, slope in through]
    d_h, d_c, a = backwards(run.dy, [*factors, run.inside(gates.f, 1.0), *run.beyond], step, run.ends)
    bias = total(a)
    a_i, a_o, a_f, _ = parts(a, 4)
    d_p = op.Concat(*(total(op.Mul(n, m)) for n, m in ((a_i, earlier), (a_o, cells), (a_f, earlier))), axis=0)
    d_b = op.Concat(bias, bias, axis=0)
    return op.MatMul(a, run.w), over_time(a, run.x), over_time(a, before), d_b, d_h, d_c, d_p


def _gates(run: Run, entering: Sequence[Array], earlier: Array, cells: Array) -> _Gates:
    p_i, p_o, p_f = parts(run.states[2], 3)
    function, propose, _ = run.activations
    into_i, into_o = op.Add(entering[0], op.Mul(earlier, p_i)), op.Add(entering[1], op.Mul(cells, p_o))
    i, o, g = function.value(into_i), function.value(into_o), propose.value(entering[3])
    of_i, of_o, of_g = function.slope(into_i, i), function.slope(into_o, o), propose.slope(entering[3], g)
    if run.how.is_forget_coupled:
        return _Gates(i, o, op.Sub(1.0, i), g, of_i, of_o, op.Mul(i, 0.0), of_g)
    into_f = op.Add(entering[2], op.Mul(earlier, p_f))
    f = function.value(into_f)
    return _Gates(i, o, f, g, of_i, of_o, function.slope(into_f, f), of_g)


def _cells(run: Run, entering: Sequence[Array]) -> Array:
    """Return the cell states, which the operator does not return."""
    _, c, p = run.states
    p_i, _, p_f = parts(p, 3)
    function = run.activations[0]
    is_coupled = run.how.is_forget_coupled
    g = run.activations[1].value(entering[3])

    def step(held: Sequence[Array], here: Sequence[Array]) -> Gradients:
        (cell,), (i, proposal, *f) = held, here
        taken = function.value(op.Add(i, op.Mul(cell, p_i)))
        kept = op.Sub(1.0, taken) if is_coupled else function.value(op.Add(f[0], op.Mul(cell, p_f)))
        new = op.Add(op.Mul(kept, cell), op.Mul(taken, proposal))
        return new, new

    _, cells = _scanned(step, [c], [entering[0], g] if is_coupled else [entering[0], g, entering[2]])
    return cells
