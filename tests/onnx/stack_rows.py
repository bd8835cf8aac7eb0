"""Models whose sequences have a length that only the run knows."""

import numpy as np

from tests.onnx.sequence_rows import END, Row, drawn

SPLIT = "s = SplitToSequence <keepdims = 0> (x)"


def edited(kind: str, position: int, count: int) -> Row:
    """An element put into a stack of rows, or taken out, at a position of the run."""
    edit = "t = SequenceErase (s, i)" if kind == "erased" else "t = SequenceInsert (s, v, i)"
    return Row(
        f"an element is {kind} at {position} of {count} rows",
        f"""m (double[N, 2] x, double[2] v, int64 i) => (double y) {{
            {SPLIT}
            {edit}
            r = ConcatFromSequence <axis = 0, new_axis = 1> (t)
            ramp = Constant <value = double[4, 2] {{1, 2, 3, 4, 5, 6, 7, 8}}> ()
            all = Concat <axis = 0> (r, ramp)
            from = Constant <value = int64[1] {{0}}> ()
            to = Constant <value = int64[1] {{4}}> ()
            four = Slice (all, from, to)
            z = Mul (four, ramp)
            {END} }}""",
        [drawn(count, 2), drawn(2), np.array(position)],
    )


def filtered(name: str, other: str, start: str = "e = SequenceEmpty <dtype = 11> ()") -> Row:
    """A Loop over rows that appends some of them, others otherwise."""
    return Row(
        name,
        f"""m (double[N, 2] x, double[2] v) => (double y) {{
            {start}
            shape = Shape (x)
            zero = Constant <value = int64 {{0}}> ()
            steps = Gather (shape, zero)
            yes = Constant <value = bool {{1}}> ()
            s = Loop (steps, yes, e) <body = step (int64 i, bool c, seq(double[2]) p) => (bool d, seq(double[2]) q) {{
                d = Identity (c)
                row = Gather (x, i)
                total = ReduceSum <keepdims = 0> (row)
                none = Constant <value = double {{0}}> ()
                large = Greater (total, none)
                q = If (large) <then_branch = take () => (seq(double[2]) t) {{ t = SequenceInsert (p, row) }},
                                else_branch = leave () => (seq(double[2]) o) {{ {other} }}> }}>
            all = SequenceInsert (s, v)
            r = ConcatFromSequence <axis = 0, new_axis = 1> (all)
            first = Constant <value_ints = [0]> ()
            z = ReduceProd <keepdims = 0> (r, first)
            {END} }}""",
        [np.array([[1.0, 0.5], [-2.0, 1.0], [0.7, 0.9]]), drawn(2)],
    )


ROWS = [
    filtered("rows are kept or left", "o = Identity (p)"),
    filtered("rows are kept or begun anew", "o = SequenceConstruct (row)", "e = SequenceConstruct (v)"),
    filtered("rows are taken once or twice", "n = SequenceInsert (p, row) o = SequenceInsert (n, v)"),
    *(edited("erased", position, 3) for position in (0, 1, 2, -1, -3)),
    *(edited("inserted", position, 2) for position in (0, 1, -1, -2)),
    edited("inserted", 0, 1),
    Row(
        "two stacks whose lengths have other names are mapped together",
        f"""m (double[N, 2] x, double[M, 2] v) => (double y) {{
            {SPLIT}
            t = SplitToSequence <keepdims = 0> (v)
            r = SequenceMap (s, t) <body = each (double[2] a, double[2] b) => (double[2] c) {{ c = Mul (a, b) }}>
            z = ConcatFromSequence <axis = 0> (r)
            {END} }}""",
        [drawn(3, 2), drawn(3, 2) + 1],
    ),
    Row(
        "as many pieces of two as the run has",
        f"""m (double[N] x) => (double y) {{
            twice = Concat <axis = 0> (x, x)
            two = Constant <value = int64 {{2}}> ()
            s = SplitToSequence (twice, two)
            r = SequenceMap (s) <body = each (double[2] a) => (double b) {{ b = ReduceProd <keepdims = 0> (a) }}>
            z = ConcatFromSequence <axis = 0, new_axis = 1> (r)
            {END} }}""",
        [drawn(3)],
    ),
]
