"""Models whose sequences have a length that only the run knows, and elements that differ in shape."""

import numpy as np

from tests.onnx.sequence_rows import EMPTY, END, LOOP, Row, drawn

PREFIXES = f"""{EMPTY}  {LOOP}
    s = Loop (n, yes, e) <body = step (int64 k, bool c, seq(double[]) p) => (bool d, seq(double[]) q) {{
        d = Identity (c)
        zero = Constant <value = int64[1] {{0}}> ()
        one = Constant <value = int64[1] {{1}}> ()
        end = Add (k, one)
        part = Slice (x, zero, end)
        q = SequenceInsert (p, part) }}>"""


def parted(axis: int, joined: int, *, sizes: str = "int64[K] sizes") -> Row:
    """A tensor split along one axis as the run says, each part changed by its own sum, and joined along another."""
    given = np.array([1, 3, 2]) if "[" in sizes else np.array(2)
    shape = [2, 2, 2] if axis != joined else [3, 2, 4]
    shape[axis] = 6
    even = "[" in sizes or axis == joined
    return Row(
        f"pieces of {sizes} along axis {axis}, joined along axis {joined}",
        f"""m (double[A, B, C] x, {sizes}) => (double y) {{
            s = SplitToSequence <axis = {axis}> (x, sizes)
            t = SequenceMap (s) <body = each (double[D, E, F] v) => (double[D, E, F] w) {{
                all = ReduceSum (v)  w = Mul (v, all) }}>
            z = ConcatFromSequence <axis = {joined}> (t)
            ramp = CumSum (z, last)
            u = Mul (z, ramp)
            y = ReduceSumSquare <keepdims = 0> (u) }}""".replace(
            "s = Split", "last = Constant <value = int64 {2}> ()  s = Split"
        ),
        [drawn(*shape), given if even else np.array(2)],
    )


def edited(edit: str, position: int) -> Row:
    return Row(
        f"{edit} at {position} of prefixes",
        f"""m (double[N] x, double[K] v, int64 n, int64 i) => (double y) {{
            {PREFIXES}
            t = {edit}
            r = ConcatFromSequence <axis = 0> (t)
            first = Constant <value = int64 {{0}}> ()
            ramp = CumSum (r, first)
            z = Mul (r, ramp)
            {END} }}""",
        [drawn(4), drawn(5), np.array(4), np.array(position)],
    )


ROWS = [
    *(parted(axis, axis) for axis in (0, 1, 2)),
    *(parted(axis, axis, sizes="int64 sizes") for axis in (0, 1)),
    parted(1, 0, sizes="int64 sizes"),
    *(edited("SequenceInsert (s, v, i)", position) for position in (0, 2, -1, -4)),
    *(edited("SequenceErase (s, i)", position) for position in (0, 3, -1, -4)),
    Row(
        "elements of several shapes read at positions from both ends",
        f"""m (double[N] x, int64 n) => (double y) {{
            {PREFIXES}
            two = Constant <value = int64 {{2}}> ()
            minus = Constant <value = int64 {{-1}}> ()
            a = SequenceAt (s, two)
            b = SequenceAt (s, minus)
            l = SequenceLength (s)
            f = Cast <to = 11> (l)
            c = Concat <axis = 0> (a, b)
            z = Mul (c, f)
            {END} }}""",
        [drawn(4), np.array(4)],
    ),
    Row(
        "what the run chooses, of several shapes and lengths",
        f"""m (double[2] a, double[3] b, bool f) => (double y) {{
            s = If (f) <then_branch = yes () => (seq(double[]) p) {{ r = Sin (b)  p = SequenceConstruct (a, r) }},
                        else_branch = no () => (seq(double[]) q) {{ q = SequenceConstruct (a) }}>
            z = ConcatFromSequence <axis = 0> (s)
            {END} }}""",
        [drawn(2), drawn(3), np.array(True)],
    ),
    Row(
        "a Loop that reads the sequence it appends to",
        f"""m (double[2] a, int64 n) => (double y) {{
            e = SequenceConstruct (a)
            {LOOP}
            s = Loop (n, yes, e) <body = step (int64 k, bool c, seq(double[2]) p) => (bool d, seq(double[2]) q) {{
                d = Identity (c)
                m = Constant <value = int64 {{-1}}> ()
                last = SequenceAt (p, m)
                r = Sin (last)
                q = SequenceInsert (p, r) }}>
            z = ConcatFromSequence <axis = 0> (s)
            {END} }}""",
        [drawn(2), np.array(3)],
    ),
    Row(
        "a Loop that puts each element before the others",
        f"""m (double[N, 2] x, double[2] a) => (double y) {{
            e = SequenceConstruct (a)
            {LOOP}
            rows = Shape <start = 0, end = 1> (x)
            n = Squeeze (rows)
            s = Loop (n, yes, e) <body = step (int64 k, bool c, seq(double[K]) p) => (bool d, seq(double[K]) q) {{
                d = Identity (c)
                zero = Constant <value = int64 {{0}}> ()
                v = Gather (x, k)
                w = Sin (v)
                q = SequenceInsert (p, w, zero) }}>
            t = ConcatFromSequence <axis = 0, new_axis = 1> (s)
            first = Constant <value = int64 {{0}}> ()
            v = SequenceAt (s, first)
            z = Mul (t, v)
            {END} }}""",
        [drawn(3, 2), drawn(2)],
    ),
    Row(
        "a Loop that reads an empty sequence's length and appends elements that grow",
        f"""m (double[2] a, int64 n) => (double y) {{
            {EMPTY}
            {LOOP}
            s, v = Loop (n, yes, e, a) <
                body = step (int64 k, bool c, seq(double[K]) p, double[L] u)
                => (bool d, seq(double[K]) q, double[M] w) {{
                d = Identity (c)
                l = SequenceLength (p)
                f = Cast <to = 11> (l)
                g = Add (u, f)
                r = Sin (g)
                w = Concat <axis = 0> (u, r)
                q = SequenceInsert (p, r) }}>
            z = ConcatFromSequence <axis = 0> (s)
            {END} }}""",
        [drawn(2), np.array(3)],
    ),
    Row(
        "a Loop that begins a sequence anew in each step",
        f"""m (double[2] a, double[3] b, int64 n) => (double y) {{
            e = SequenceConstruct (a, b, a)
            {LOOP}
            s, v = Loop (n, yes, e, b) <
                body = step (int64 k, bool c, seq(double[K]) p, double[3] u)
                => (bool d, seq(double[K]) q, double[3] w) {{
                d = Identity (c)
                w = Sin (u)
                t = SequenceEmpty <dtype = 11> ()
                q = SequenceInsert (t, w) }}>
            z = ConcatFromSequence <axis = 0> (s)
            {END} }}""",
        [drawn(2), drawn(3), np.array(2)],
    ),
    Row(
        "a map of rows to elements of several shapes, and one of those beside a list",
        f"""m (double[N, 3] x, double[2] a, double[3] b) => (double y) {{
            s = SplitToSequence <keepdims = 0> (x)
            t = SequenceMap (s) <body = each (double[3] v) => (double[K] w) {{
                half = Constant <value = double {{1}}> ()
                is = Greater (v, half)
                some = Compress <axis = 0> (v, is)
                w = Exp (some) }}>
            l = SequenceConstruct (a, b)
            r = SequenceMap (t, l) <body = both (double[K] v, double[L] u) => (double[M] w) {{
                all = ReduceProd <keepdims = 0> (u)
                w = Mul (v, all) }}>
            z = ConcatFromSequence <axis = 0> (r)
            {END} }}""",
        [drawn(2, 3), drawn(2), drawn(3)],
    ),
]
