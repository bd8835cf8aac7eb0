"""Models that hold sequences or optional values and end in a scalar, and what they are given."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

END = "y = ReduceSumSquare <keepdims = 0> (z)"
LOOP = "yes = Constant <value = bool {1}> ()"
EMPTY = "e = SequenceEmpty <dtype = 11> ()"


def drawn(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape)


@dataclass(frozen=True)
class Row:
    """A model of float64 inputs, and what it is given."""

    name: str
    text: str
    arguments: list[Any]
    lengths: dict[str, int] = field(default_factory=dict)
    given: dict[str, bool] = field(default_factory=dict)


OPERATORS = [
    Row(
        "elements are put in, taken out and read at positions from both ends",
        f"""m (double[2] a, double[2] b, double[3] c) => (double y) {{
            s = SequenceConstruct (a, b)
            zero = Constant <value = int64 {{0}}> ()
            minus = Constant <value = int64 {{-1}}> ()
            t = SequenceInsert (s, c, zero)
            u = SequenceInsert (t, a, minus)
            v = SequenceErase (u, minus)
            first = SequenceAt (v, zero)
            last = SequenceAt (v, minus)
            w = SequenceConstruct (first, last, c)
            z = ConcatFromSequence <axis = 0> (w)
            {END} }}""",
        [drawn(2), drawn(2), drawn(3)],
    ),
    Row(
        "a tensor is split along an axis of literal size and stacked along another",
        f"""m (double[3, 2] x) => (double y) {{
            s = SplitToSequence <axis = 1, keepdims = 0> (x)
            t = SequenceMap (s) <body = each (double[3] v) => (double[3] w) {{ w = Exp (v) }}>
            z = ConcatFromSequence <axis = -1, new_axis = 1> (t)
            {END} }}""",
        [drawn(3, 2)],
    ),
    Row(
        "a tensor is split into pieces of sizes that only the run knows",
        f"""m (double[5] x, int64[2] sizes) => (double y) {{
            s = SplitToSequence (x, sizes)
            one = Constant <value = int64 {{1}}> ()
            v = SequenceAt (s, one)
            z = Tanh (v)
            {END} }}""",
        [drawn(5), np.array([2, 3])],
    ),
    Row(
        "a tensor is split into pieces of one size, the last of them shorter",
        f"""m (double[5] x) => (double y) {{
            two = Constant <value = int64 {{2}}> ()
            s = SplitToSequence (x, two)
            v = SequenceAt (s, two)
            n = SequenceLength (s)
            d = Cast <to = 11> (n)
            z = Mul (v, d)
            {END} }}""",
        [drawn(5)],
    ),
    *(
        Row(
            f"a tensor of {rows} rows is split, mapped beside a tensor and joined",
            f"""m (double[N, 2] x, double[2] w) => (double y) {{
                s = SplitToSequence <keepdims = 0> (x)
                t = SequenceMap (s, w) <body = each (double[2] v, double[2] u) => (double[2] r)
                    {{ p = Mul (v, u)  r = Sin (p) }}>
                n = SequenceLength (t)
                d = Cast <to = 11> (n)
                q = ConcatFromSequence <axis = 0> (t)
                z = Mul (q, d)
                {END} }}""",
            [drawn(rows, 2), drawn(2)],
        )
        for rows in (1, 4)
    ),
    Row(
        "columns that only the run counts are joined along an axis inside",
        f"""m (double[2, N] x) => (double y) {{
            s = SplitToSequence <axis = 1> (x)
            a = ConcatFromSequence <axis = 1> (s)
            b = ConcatFromSequence <axis = 2, new_axis = 1> (s)
            minus = Constant <value = int64 {{-1}}> ()
            last = SequenceAt (s, minus)
            c = ReduceSumSquare <keepdims = 0> (b)
            d = Mul (a, last)
            z = Mul (d, c)
            {END} }}""",
        [drawn(2, 3)],
    ),
    *(
        Row(
            f"{kind} at position {at} of the run",
            f"""m (double[2] a, double[3] b, double[4] c, int64 i) => (double y) {{
                s = SequenceConstruct (a, b, a)
                t = {kind}
                z = ConcatFromSequence <axis = 0> (t)
                {END} }}""",
            [drawn(2), drawn(3), drawn(4), np.array(at)],
        )
        for kind in ("SequenceInsert (s, c, i)", "SequenceErase (s, i)")
        for at in (1, -1)
    ),
    Row(
        "an element is appended to rows that only the run counts",
        f"""m (double[N, 2] x) => (double y) {{
            s = SplitToSequence <keepdims = 0> (x)
            zero = Constant <value = int64 {{0}}> ()
            v = SequenceAt (s, zero)
            w = Exp (v)
            t = SequenceInsert (s, w)
            z = ConcatFromSequence <axis = 0, new_axis = 1> (t)
            {END} }}""",
        [drawn(3, 2)],
    ),
    *(
        Row(
            f"element {at} of {what} is read",
            f"""m (double[2] a, double[2] b, double[{size}] c, int64 i) => (double y) {{
                s = SequenceConstruct (a, b, c)
                v = SequenceAt (s, i)
                z = Sin (v)
                {END} }}""",
            [drawn(2), drawn(2) + 1, drawn(size), np.array(at)],
        )
        for what, size in (("one shape", 2), ("several shapes", 3))
        for at in (0, 2, -2)
    ),
]

LOOPS = [
    *(
        Row(
            f"a Loop of {steps} steps appends what is stacked after it",
            f"""m (double[N, 2] x, int64 n) => (double y) {{
                {EMPTY}  {LOOP}
                s = Loop (n, yes, e) <body = step
                    (int64 i, bool c, seq(double[2]) before) => (bool c2, seq(double[2]) after) {{
                    c2 = Identity (c)
                    row = Gather (x, i)
                    wave = Sin (row)
                    after = SequenceInsert (before, wave)
                }}>
                z = ConcatFromSequence <axis = 1, new_axis = 1> (s)
                {END} }}""",
            [drawn(4, 2), np.array(steps)],
        )
        for steps in (1, 3)
    ),
    Row(
        "a Loop appends two elements a step to a sequence that has one, and carries a tensor",
        f"""m (double[2] x, int64 n) => (double y) {{
            e = SequenceConstruct (x)
            {LOOP}
            last, s, rows = Loop (n, yes, x, e) <body = step
                (int64 i, bool c, double[2] h, seq(double[2]) before)
                => (bool c2, double[2] g, seq(double[2]) after, double[2] row) {{
                c2 = Identity (c)
                g = Sin (h)
                row = Mul (g, h)
                mid = SequenceInsert (before, g)
                after = SequenceInsert (mid, h)
            }}>
            a = ConcatFromSequence <axis = 0> (s)
            b = ReduceSum <keepdims = 0> (rows)
            p = Mul (a, b)
            q = ReduceSum <keepdims = 0> (last)
            z = Add (p, q)
            {END} }}""",
        [drawn(2), np.array(3)],
    ),
    Row(
        "a Loop appends to rows that only the run counts, two in each step by another Loop inside",
        f"""m (double[N, 2] x, int64 n) => (double y) {{
            {LOOP}
            two = Constant <value = int64 {{2}}> ()
            s = SplitToSequence <keepdims = 0> (x)
            t = Loop (n, yes, s) <body = step
                (int64 i, bool c, seq(double[2]) before) => (bool c2, seq(double[2]) after) {{
                c2 = Identity (c)
                row = Gather (x, i)
                after = Loop (two, yes, before) <body = again
                    (int64 j, bool d, seq(double[2]) old) => (bool d2, seq(double[2]) new) {{
                    d2 = Identity (d)
                    k = Cast <to = 11> (j)
                    w = Add (row, k)
                    v = Sin (w)
                    new = SequenceInsert (old, v)
                }}>
            }}>
            z = ConcatFromSequence <axis = 0> (t)
            {END} }}""",
        [drawn(3, 2), np.array(2)],
    ),
    Row(
        "each branch in a Loop appends an element",
        f"""m (double[3, 2] x, int64 n) => (double y) {{
            {EMPTY}  {LOOP}
            one = Constant <value = int64 {{1}}> ()
            t = Loop (n, yes, e) <body = step
                (int64 i, bool c, seq(double[2]) before) => (bool c2, seq(double[2]) after) {{
                c2 = Identity (c)
                row = Gather (x, i)
                first = Less (i, one)
                after = If (first) <
                    then_branch = yes () => (seq(double[2]) p) {{ v = Sin (row)  p = SequenceInsert (before, v) }},
                    else_branch = no () => (seq(double[2]) q) {{ w = Exp (row)  q = SequenceInsert (before, w) }}>
            }}>
            z = ConcatFromSequence <axis = 0> (t)
            {END} }}""",
        [drawn(3, 2), np.array(2)],
    ),
    Row(
        "a Loop takes an element out in each step",
        f"""m (double[N, 2] x, double[2] v, int64 n) => (double y) {{
            {LOOP}
            minus = Constant <value = int64 {{-1}}> ()
            s = SplitToSequence <keepdims = 0> (x)
            t, z = Loop (n, yes, s, v) <body = step
                (int64 i, bool c, seq(double[2]) p, double[2] a) => (bool d, seq(double[2]) q, double[2] b) {{
                last = SequenceAt (p, minus)
                q = SequenceErase (p, minus)
                w = Mul (a, last)
                b = Tanh (w)
                d = Identity (c) }}>
            {END} }}""",
        [drawn(4, 2), drawn(2), np.array(3)],
    ),
    Row(
        "a Loop carries a list of two states of several shapes",
        f"""m (double[2] a, double[3] b, int64 n) => (double y) {{
            s = SequenceConstruct (a, b)
            {LOOP}
            zero = Constant <value = int64 {{0}}> ()
            one = Constant <value = int64 {{1}}> ()
            t = Loop (n, yes, s) <body = step
                (int64 i, bool c, seq(double[]) before) => (bool c2, seq(double[]) after) {{
                c2 = Identity (c)
                h = SequenceAt (before, zero)
                k = SequenceAt (before, one)
                m = ReduceMean <keepdims = 0> (k)
                h2 = Mul (h, m)
                k2 = Sin (k)
                after = SequenceConstruct (h2, k2)
            }}>
            z = ConcatFromSequence <axis = 0> (t)
            {END} }}""",
        [drawn(2), drawn(3), np.array(2)],
    ),
    Row(
        "a Loop of a constant number of steps that ends early appends elements of several shapes",
        f"""m (double[4] x) => (double y) {{
            {EMPTY}  {LOOP}
            n = Constant <value = int64 {{3}}> ()
            s, rows = Loop (n, yes, e) <body = step
                (int64 i, bool c, seq(double[]) before) => (bool c2, seq(double[]) after, double[4] row) {{
                one = Constant <value = int64[1] {{1}}> ()
                two = Constant <value = int64 {{1}}> ()
                zero = Constant <value = int64[1] {{0}}> ()
                end = Add (i, one)
                part = Slice (x, zero, end)
                after = SequenceInsert (before, part)
                c2 = Less (i, two)
                row = Sin (x)
            }}>
            q = ConcatFromSequence <axis = 0> (s)
            r = ReduceSum <keepdims = 0> (rows)
            z = Mul (q, r)
            {END} }}""",
        [drawn(4)],
    ),
    *(
        Row(
            f"a Loop as long as a sequence of {count} reads its elements in turn",
            f"""m (seq(double[2]) x, double[2] a) => (double y) {{
                n = SequenceLength (x)
                {EMPTY}  {LOOP}
                s = Loop (n, yes, e) <body = step
                    (int64 i, bool c, seq(double[2]) before) => (bool c2, seq(double[2]) after) {{
                    c2 = Identity (c)
                    v = SequenceAt (x, i)
                    w = Exp (v)
                    after = SequenceInsert (before, w)
                }}>
                t = SequenceInsert (s, a)
                z = ConcatFromSequence <axis = 0> (t)
                {END} }}""",
            [[drawn(2) + i for i in range(count)], drawn(2)],
            lengths={"x": count},
        )
        for count in (0, 2)
    ),
    Row(
        "a Loop as long as rows that only the run counts reads them in turn",
        f"""m (double[N, 2] a) => (double y) {{
            x = SplitToSequence <keepdims = 0> (a)
            n = SequenceLength (x)
            {EMPTY}  {LOOP}
            s = Loop (n, yes, e) <body = step
                (int64 i, bool c, seq(double[2]) before) => (bool c2, seq(double[2]) after) {{
                c2 = Identity (c)
                v = SequenceAt (x, i)
                w = Exp (v)
                after = SequenceInsert (before, w)
            }}>
            z = ConcatFromSequence <axis = 0> (s)
            {END} }}""",
        [drawn(3, 2)],
    ),
]

BRANCHES = [
    *(
        Row(
            f"an If whose condition is {flag} gives sequences of one length",
            f"""m (double[2] a, double[3] b, bool f) => (double y) {{
                s = If (f) <
                    then_branch = yes () => (seq(double[]) p) {{ c = Sin (a)  p = SequenceConstruct (c, b) }},
                    else_branch = no () => (seq(double[]) q) {{ q = SequenceConstruct (b, b) }}>
                zero = Constant <value = int64 {{0}}> ()
                z = SequenceAt (s, zero)
                {END} }}""",
            [drawn(2), drawn(3), np.array(flag)],
        )
        for flag in (True, False)
    ),
    *(
        Row(
            f"an If whose condition is {flag} gives sequences of several lengths",
            f"""m (double[2] a, double[2] b, bool f) => (double y) {{
                s = If (f) <
                    then_branch = yes () => (seq(double[2]) p) {{ c = Sin (a)  p = SequenceConstruct (c, b, a) }},
                    else_branch = no () => (seq(double[2]) q) {{ q = SequenceConstruct (b) }}>
                z = ConcatFromSequence <axis = 0> (s)
                {END} }}""",
            [drawn(2), drawn(2), np.array(flag)],
        )
        for flag in (True, False)
    ),
    *(
        Row(
            f"an If whose condition is {flag} gives a sequence or none of its elements",
            f"""m (double[2] a, double[2] b, bool f) => (double y) {{
                s = If (f) <
                    then_branch = yes () => (seq(double[2]) p) {{ c = Sin (a)  p = SequenceConstruct (c, b) }},
                    else_branch = no () => (seq(double[2]) q) {{ q = SequenceEmpty <dtype = 11> () }}>
                t = SequenceInsert (s, a)
                z = ConcatFromSequence <axis = 0> (t)
                {END} }}""",
            [drawn(2), drawn(2), np.array(flag)],
        )
        for flag in (True, False)
    ),
    *(
        Row(
            f"an optional input that is {'given' if flag else 'not given'} decides an If",
            f"""m (double[2] a, optional(double[2]) o) => (double y) {{
                h = OptionalHasElement (o)
                z = If (h) <
                    then_branch = yes () => (double[2] p) {{ e = OptionalGetElement (o)  p = Mul (a, e) }},
                    else_branch = no () => (double[2] q) {{ q = Exp (a) }}>
                {END} }}""",
            [drawn(2), drawn(2) if flag else None],
            given={"o": flag},
        )
        for flag in (True, False)
    ),
]

ROWS = [*OPERATORS, *LOOPS, *BRANCHES]
