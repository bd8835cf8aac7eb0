"""Sequences and optional values of loaded models: the model's own numbers, and their first and second derivatives."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import primsplit as ps
from primsplit.ir.errors import ParseError, PrimsplitError, RunError, SpecError, UnsupportedFunction
from primsplit.tracing import trees
from tests.onnx.ragged_rows import ROWS as RAGGED
from tests.onnx.sequence_rows import ROWS as LISTED
from tests.onnx.sequence_rows import Row, drawn
from tests.onnx.stack_rows import ROWS as STACKED
from tests.onnx.stack_rows import edited

ROWS = [*LISTED, *STACKED, *RAGGED]

Arrays = list[Any]
HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


def saved(folder: Path, text: str) -> str:
    path = str(folder / "model.onnx")
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return path


@pytest.fixture(params=ROWS, ids=[row.name for row in ROWS])
def row(request: pytest.FixtureRequest) -> Row:
    found: Row = request.param
    return found


class Subject:
    """A row's program, the standard's own evaluator, and a direction for its floating-point inputs."""

    def __init__(self, row: Row, folder: Path) -> None:
        path = saved(folder, row.text)
        self.program = ps.load(path, lengths=row.lengths, given=row.given)
        self.arrays, self.structure = trees.flatten(row.arguments)
        model = onnx.load(path)
        self.names = [v.name for v in model.graph.input]
        self.evaluator = onnx.reference.ReferenceEvaluator(model)
        random = np.random.default_rng(3)
        self.direction = [
            random.standard_normal(x.shape) if x.dtype == np.float64 else np.zeros_like(x) for x in self.arrays
        ]

    def expected(self, step: float = 0.0) -> float:
        """The model's result, away from its inputs by so many times the direction."""
        moved = [x + step * d if x.dtype == np.float64 else x for x, d in zip(self.arrays, self.direction, strict=True)]
        nested = trees.unflatten(self.structure, moved)
        return float(self.evaluator.run(None, dict(zip(self.names, nested, strict=True)))[0])

    def run(self, program: Any, arrays: Arrays) -> Arrays:
        found: Arrays = program.session().run(dict(zip(program.inputs, arrays, strict=True)))
        return found

    def along(self, gradients: Arrays, wrt: Any) -> float:
        return float(sum(np.sum(g * self.direction[i]) for g, i in zip(gradients, wrt, strict=True)))


def test_the_numbers_are_the_models_own(row: Row, tmp_path: Path) -> None:
    subject = Subject(row, tmp_path)
    np.testing.assert_allclose(subject.program(*row.arguments), subject.expected(), rtol=1e-12)


def test_first_and_second_derivatives_are_those_of_differences(row: Row, tmp_path: Path) -> None:
    subject = Subject(row, tmp_path)
    made = ps.split(subject.program)
    joint = made.joint()
    _, *gradients = subject.run(joint, subject.arrays)
    first = (subject.expected(1e-5) - subject.expected(-1e-5)) / 2e-5
    np.testing.assert_allclose(subject.along(gradients, made.differentiated), first, rtol=1e-7)
    again = ps.split(joint, of=joint.outputs[1:])
    weights = [subject.direction[i] for i in made.differentiated]
    second = subject.run(again.joint(), [*subject.arrays, *weights])[len(joint.outputs) :]
    steps = subject.expected(1e-4) - 2 * subject.expected() + subject.expected(-1e-4)
    np.testing.assert_allclose(subject.along(second, again.differentiated), steps / 1e-8, rtol=1e-4)


ENDS = """m (seq(double[N]) x, optional(double[2]) o) => (seq(double[N]) s, optional(double[2]) p, double[2] q) {
    s = SequenceMap (x) <body = each (double[N] v) => (double[N] w) { w = Sin (v) }>
    p = Identity (o)
    q = Constant <value = double[2] {1, 2}> ()
}"""


def test_sequences_at_the_ends_are_lists_of_any_sizes(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, ENDS), lengths={"x": 2})
    assert program.inputs == ("x.0", "x.1", "o")
    assert program.outputs == ("s.0", "s.1", "p", "q")
    x = [drawn(2), drawn(5)]
    s, p, q = program(x, drawn(2))
    np.testing.assert_allclose(s[0], np.sin(x[0]))
    np.testing.assert_allclose(s[1], np.sin(x[1]))
    np.testing.assert_array_equal(p, drawn(2))
    np.testing.assert_array_equal(q, [1, 2])


def test_an_optional_input_that_is_not_given_is_none_in_and_out(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, ENDS), lengths={"x": 0}, given={"o": False})
    assert program.inputs == ()
    s, p, _ = program([], None)
    assert (s, p) == ([], None)


SPREAD = """m (double[N, 2] x, int64 size) => (seq(double[2]) rows, seq(double[K, 2]) pieces) {
    rows = SplitToSequence <keepdims = 0> (x)
    pieces = SplitToSequence (x, size)
}"""


def test_sequences_of_a_length_that_the_run_knows_come_out_as_a_stack_or_as_elements_in_a_row(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, SPREAD))
    assert program.outputs == ("rows", "pieces.elements", "pieces.shapes")
    x = drawn(5, 2)
    rows, pieces = program(x, np.array(2))
    np.testing.assert_array_equal(rows, x)
    np.testing.assert_array_equal(pieces["elements"], x.reshape(-1))
    np.testing.assert_array_equal(pieces["shapes"], [[2, 2], [2, 2], [1, 2]])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("size", [5, 1, 0])
def test_pieces_of_a_tensor_of_any_size_are_mapped_and_joined(size: int, axis: int, tmp_path: Path) -> None:
    declared = "N, 2" if axis == 0 else "2, N"
    text = f"""m (double[{declared}] x, int64 each) => (int64 l, double[A, B] y) {{
        s = SplitToSequence <axis = {axis}> (x, each)
        t = SequenceMap (s) <body = one (double[C, D] v) => (double[C, D] w) {{ w = Sin (v) }}>
        l = SequenceLength (t)
        u = SequenceInsert (t, x)
        y = ConcatFromSequence <axis = {axis}> (u) }}"""
    program = ps.load(saved(tmp_path, text))
    x = drawn(size, 2) if axis == 0 else drawn(2, size)
    length, y = program(x, np.array(2))
    assert int(length) == -(-size // 2)
    np.testing.assert_allclose(y, np.concatenate([np.sin(x), x], axis), rtol=1e-12)
    gradient = ps.split(program, wrt="x", of="y", seed="ones").joint()
    np.testing.assert_allclose(gradient(x, np.array(2))[-1], np.cos(x) + 1, rtol=1e-12)


MIXED = """m (double[2] a, int64 n) => (seq(double[]) s, double[] first, double[] last) {
    k = ReduceProd <keepdims = 0> (a)
    e = SequenceConstruct (k)
    yes = Constant <value = bool {1}> ()
    s = Loop (n, yes, e) <body = step (int64 i, bool c, seq(double[]) p) => (bool d, seq(double[]) q) {
        d = Identity (c)  r = Sin (a)  q = SequenceInsert (p, r) }>
    zero = Constant <value = int64 {0}> ()
    minus = Constant <value = int64 {-1}> ()
    first = SequenceAt (s, zero)
    last = SequenceAt (s, minus) }"""


def test_elements_of_several_numbers_of_axes_are_told_apart(tmp_path: Path) -> None:
    path = saved(tmp_path, MIXED)
    model = onnx.load(path)
    for output in model.graph.output[1:]:
        output.type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    x = drawn(2)
    elements, first, last = ps.load(path)(x, np.array(2))
    np.testing.assert_allclose(elements["elements"], [x.prod(), *np.sin(x), *np.sin(x)])
    np.testing.assert_array_equal(elements["shapes"], [[-1], [2], [2]])
    np.testing.assert_allclose(first, x.prod())
    np.testing.assert_allclose(last, np.sin(x))


def test_pieces_that_do_not_fit_fail_at_run_time(tmp_path: Path) -> None:
    text = """m (double[2, 4] x, int64[K] sizes) => (double[A, B] y) {
        s = SplitToSequence <axis = 1> (x, sizes)
        y = ConcatFromSequence <axis = 0> (s) }"""
    program = ps.load(saved(tmp_path, text))
    np.testing.assert_array_equal(program(drawn(2, 4), np.array([2, 2])), np.vstack(np.hsplit(drawn(2, 4), 2)))
    for sizes in ([2, 1], [1, 3], []):
        with pytest.raises(RunError):
            program(drawn(2, 4), np.array(sizes, np.int64))


def test_a_traced_function_calls_a_model_with_a_list(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, ENDS), lengths={"x": 2})
    x, o = [drawn(2), drawn(3)], drawn(2)

    def f(x: Any, o: Any) -> Any:
        s, p, _ = program(x, o)
        return np.sum(s[0]) * np.sum(s[1]) + np.sum(p)

    dx = ps.grad(f)(x, o)
    np.testing.assert_allclose(dx[0], np.cos(x[0]) * np.sum(np.sin(x[1])))
    np.testing.assert_allclose(dx[1], np.cos(x[1]) * np.sum(np.sin(x[0])))


def test_a_body_reads_an_initializer_that_is_differentiated(tmp_path: Path) -> None:
    text = """m (seq(double[2]) x) => (double y) <double[2] w = {1, 2}> {
        s = SequenceMap (x) <body = each (double[2] v) => (double[2] r) { r = Mul (v, w) }>
        z = ConcatFromSequence <axis = 0> (s)
        y = ReduceSum <keepdims = 0> (z) }"""
    made = ps.split(ps.load(saved(tmp_path, text), lengths={"x": 2}), wrt="params")
    x = [drawn(2), drawn(2) + 1]
    _, dw = made.joint()(*x, np.array([1.0, 2.0]))
    np.testing.assert_allclose(dw, x[0] + x[1])


def model(body: str, inputs: str = "double[2] a, double[3] b, int64 i", output: str = "double[] y") -> str:
    return f"m ({inputs}) => ({output}) {{ {body} }}"


SPLIT = "s = SplitToSequence <keepdims = 0> (a)"

REFUSED = [
    ("a sequence input without a length", model("y = ConcatFromSequence <axis = 0> (a)", "seq(double[2]) a"),
     UnsupportedFunction, "lengths={'a': 3}"),
    ("a position that a sequence does not have",
     model("s = SequenceConstruct (a, a)  k = Constant <value = int64 {2}> ()  y = SequenceAt (s, k)"),
     ParseError, "position 2 of a sequence of 2"),
    ("an insertion at a position of the run, of another number of axes",
     model("""k = ReduceSum <keepdims = 0> (a)  s = SequenceConstruct (a)  t = SequenceInsert (s, k, i)
           n = SequenceLength (t)  y = Cast <to = 11> (n)"""),
     UnsupportedFunction, "SequenceInsert at a position that only the run knows"),
    ("an erasure of the one element at a position of the run",
     model("s = SequenceConstruct (a)  t = SequenceErase (s, i)  n = SequenceLength (t)  y = Cast <to = 11> (n)"),
     UnsupportedFunction, "one element"),
    ("pieces without end",
     model("two = Constant <value = int64 {2}> ()  s = SplitToSequence (a, two)  y = ConcatFromSequence <axis = 0> (s)",
           "double[1000000000] a"),
     UnsupportedFunction, "500000000 pieces"),
    ("elements of several numbers of axes at a position of the run",
     model("k = ReduceSum <keepdims = 0> (a)  s = SequenceConstruct (a, k)  y = SequenceAt (s, i)"),
     UnsupportedFunction, "several dtypes or numbers of axes"),
    ("an empty sequence joined", model("s = SequenceEmpty <dtype = 11> ()  y = ConcatFromSequence <axis = 0> (s)"),
     ParseError, "joins an empty sequence"),
    ("an optional value that is not given",
     model("o = Optional <type = double[2]> ()  y = OptionalGetElement (o)"), ParseError, "not given"),
    ("sequences of several lengths mapped",
     model("""s = SequenceConstruct (a, a)  t = SequenceConstruct (a)
           u = SequenceMap (s, t) <body = each (double[2] v, double[2] w) => (double[2] r) { r = Mul (v, w) }>
           y = ConcatFromSequence <axis = 0> (u)"""), ParseError, "one length, not 2, 1"),
    ("a Loop that reads the sequence it appends to, whose elements are not declared",
     model("""e = SequenceEmpty <dtype = 11> ()  yes = Constant <value = bool {1}> ()
           s = Loop (i, yes, e) <body = step (int64 n, bool c, seq(double[]) p) => (bool d, seq(double[]) q) {
               d = Identity (c)  l = SequenceLength (p)  f = Cast <to = 11> (l)  r = Mul (a, f)
               q = SequenceInsert (p, r) }>
           y = ConcatFromSequence <axis = 0> (s)"""), UnsupportedFunction, "how many axes they have is not known"),
]  # fmt: skip


UNLIKE = {
    "an insertion": model(f"{SPLIT}  t = SequenceInsert (s, a)  y = ConcatFromSequence <axis = 0> (t)", "double[N] a"),
    "branches": model("""z = Constant <value = int64 {0}> ()  f = Less (i, z)  k = ReduceSum <keepdims = 0> (b)
           s = If (f) <then_branch = yes () => (seq(double[]) p) { p = SequenceConstruct (a, k) },
                       else_branch = no () => (seq(double[]) q) { q = SequenceConstruct (a) }>
           y = ConcatFromSequence <axis = 0> (s)"""),
    "a Loop": model("""k = ReduceSum <keepdims = 0> (a)  e = SequenceConstruct (k)  yes = Constant <value = bool {1}> ()
           s = Loop (i, yes, e) <body = step (int64 n, bool c, seq(double[]) p) => (bool d, seq(double[]) q) {
               d = Identity (c)  q = SequenceInsert (p, a) }>
           y = ConcatFromSequence <axis = 0> (s)"""),
}  # fmt: skip


@pytest.mark.parametrize("text", UNLIKE.values(), ids=list(UNLIKE))
def test_a_run_that_joins_elements_of_several_numbers_of_axes_fails(text: str, tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, text))
    sizes = [tuple(d if isinstance(d, int) else 2 for d in t.shape or ()) for t in program.types]
    given = [np.full(s, -1 if t.dtype.kind == "i" else 0.5, t.dtype) for s, t in zip(sizes, program.types, strict=True)]
    with pytest.raises(RunError):
        program(*given)


def test_elements_that_might_have_several_numbers_of_axes_are_joined_where_they_have_one(tmp_path: Path) -> None:
    program = ps.load(saved(tmp_path, UNLIKE["branches"]))
    made = ps.split(program, wrt=["a", "b"], seed="ones").joint()
    a = np.array([0.5, 2.0])
    for found, expected in zip(made(a, np.ones(3), np.array(1)), (a, np.ones(2), np.zeros(3)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("text", "error", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_tensors_cannot_tell_is_refused_by_name(
    text: str, error: type[PrimsplitError], told: str, tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        ps.load(saved(tmp_path, text))
    assert told in str(caught.value)
    assert str(caught.value).count("\n") < 10


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"lengths": {"o": 1}}, "no input o that is a sequence"),
        ({"lengths": {"x": -1}}, "cannot have -1"),
        ({"given": {"x": True}}, "no input x that is an optional"),
    ],
)
def test_what_is_said_of_inputs_must_fit_them(more: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=told):
        ps.load(saved(tmp_path, ENDS), **more)


AT_THE_RUN = {
    "SequenceAt (s, i)": "y = Identity (t)",
    "SequenceInsert (s, c, i)": "y = ConcatFromSequence <axis = 0> (t)",
    "SequenceErase (s, i)": "y = ConcatFromSequence <axis = 0> (t)",
}


@pytest.mark.parametrize("size", [2, 3], ids=["one shape", "several shapes"])
@pytest.mark.parametrize("kind", AT_THE_RUN)
def test_positions_of_the_run_are_onnxruntimes_and_fail_where_there_are_none(
    kind: str, size: int, tmp_path: Path
) -> None:
    text = f"""m (double[2] a, double[{size}] b, double[2] c, int64 i) => (double[K] y) {{
        s = SequenceConstruct (a, b)  t = {kind}  {AT_THE_RUN[kind]} }}"""
    path = saved(tmp_path, text)
    program, session = ps.load(path), onnxruntime.InferenceSession(path)
    arrays = [drawn(2), drawn(size), drawn(2) + 1]
    failed = 0
    for position in range(-9, 10):
        given = [*arrays, np.array(position)]
        try:
            expected = session.run(None, dict(zip("abci", given, strict=True)))[0]
        except InvalidArgument:
            failed += 1
            with pytest.raises(RunError):
                program(*given)
        else:
            np.testing.assert_array_equal(program(*given), expected)
    assert failed == 19 - (5 if "Insert" in kind else 4)


@pytest.mark.parametrize("keeps", [0, 1])
def test_pieces_of_size_one_lose_their_axis_where_onnxruntime_takes_it_away(keeps: int, tmp_path: Path) -> None:
    text = f"""m (double[3, 2] x) => (double[{"A, B, C" if keeps else "A, B"}] y) {{
        one = Constant <value = int64 {{1}}> ()
        s = SplitToSequence <axis = 0, keepdims = {keeps}> (x, one)
        y = ConcatFromSequence <axis = -1, new_axis = 1> (s) }}"""
    path = saved(tmp_path, text)
    expected = onnxruntime.InferenceSession(path).run(None, {"x": drawn(3, 2)})[0]
    np.testing.assert_array_equal(ps.load(path)(drawn(3, 2)), expected)


def test_no_steps_and_no_rows_give_empty_sequences(tmp_path: Path) -> None:
    text = """m (double[N, 2] x, int64 n) => (double[K, 2] y, int64 l, double[K] z) {
        yes = Constant <value = bool {1}> ()
        e = SequenceEmpty <dtype = 11> ()
        s = Loop (n, yes, e) <body = step (int64 i, bool c, seq(double[2]) p) => (bool d, seq(double[2]) q) {
            d = Identity (c)  r = Gather (x, i)  w = Sin (r)  q = SequenceInsert (p, w) }>
        l = SequenceLength (s)
        y = ConcatFromSequence <axis = 0, new_axis = 1> (s)
        t = SplitToSequence <keepdims = 0> (x)
        u = SequenceMap (t) <body = each (double[2] v) => (double[2] w) { w = Sin (v) }>
        z = ConcatFromSequence <axis = 0> (u)
    }"""
    joint = ps.split(ps.load(saved(tmp_path, text))).joint()
    y, length, z, dx = joint(np.zeros((0, 2)), np.array(0), np.zeros((0, 2)), np.zeros(0))
    assert (y.shape, int(length), z.shape, dx.shape) == ((0, 2), 0, (0,), (0, 2))


def test_an_element_is_put_after_the_last_of_a_stack_as_onnxruntime_does(tmp_path: Path) -> None:
    row = edited("inserted", 2, 2)
    path = saved(tmp_path, row.text)
    feeds = dict(zip(("x", "v", "i"), row.arguments, strict=True))
    (expected,) = onnxruntime.InferenceSession(path).run(None, feeds)
    np.testing.assert_allclose(ps.load(path)(*row.arguments), expected, rtol=1e-12)


@pytest.mark.parametrize(("kind", "position"), [("inserted", 3), ("inserted", -3), ("erased", 2), ("erased", -3)])
def test_a_position_that_a_stack_does_not_have_fails_at_run_time(kind: str, position: int, tmp_path: Path) -> None:
    row = edited(kind, position, 2)
    with pytest.raises(RunError, match="out of data bounds"):
        ps.load(saved(tmp_path, row.text))(*row.arguments)


def test_stacks_of_several_lengths_mapped_fail_at_run_time(tmp_path: Path) -> None:
    row = next(r for r in STACKED if "mapped together" in r.name)
    program = ps.load(saved(tmp_path, row.text))
    for lengths in ((3, 2), (3, 1), (1, 3)):
        with pytest.raises(RunError):
            program(drawn(lengths[0], 2), drawn(lengths[1], 2))


def test_an_optional_value_that_the_run_does_not_give_cannot_be_read(tmp_path: Path) -> None:
    text = """m (double[N] x, bool f) => (double[N] y) {
        o = If (f) <
            then_branch = yes () => (optional(double[N]) p) { p = Optional (x) },
            else_branch = no () => (optional(double[N]) q) { q = Optional <type = optional(double[2])> () }>
        y = OptionalGetElement (o) }"""
    program = ps.load(saved(tmp_path, text))
    np.testing.assert_array_equal(program(np.ones(2), np.array(True)), np.ones(2))
    with pytest.raises(RunError, match="out of data bounds"):
        program(np.ones(2), np.array(False))


def test_an_optional_sequence_may_be_given_as_the_run_decides(tmp_path: Path) -> None:
    text = """m (double[2] x, bool f) => (optional(seq(double[2])) o, double[K] y) {
        o = If (f) <
            then_branch = yes () => (optional(seq(double[2])) p) {
                e = Exp (x)  s = SequenceConstruct (x, e)  p = Optional (s) },
            else_branch = no () => (optional(seq(double[2])) q) { q = Optional <type = seq(double[2])> () }>
        h = OptionalHasElement (o)
        y = If (h) <
            then_branch = has () => (double[A] u) {
                t = OptionalGetElement (o)  u = ConcatFromSequence <axis = 0> (t) },
            else_branch = none () => (double[B] w) { w = Sin (x) }> }"""
    program = ps.load(saved(tmp_path, text))
    assert program.outputs == ("o.elements", "o.given", "o.shapes", "y")
    x = drawn(2)
    for flag, told in ((True, np.concatenate([x, np.exp(x)])), (False, np.sin(x))):
        o, y = program(x, np.array(flag))
        np.testing.assert_allclose(y, told, rtol=1e-12)
        assert (bool(o["given"]), o["elements"].size, o["shapes"].tolist()) == (flag, 4 * flag, [[2], [2]] * flag)
    gradient = ps.split(program, wrt="x", of="y", seed="ones").joint()
    np.testing.assert_allclose(gradient(x, np.array(True))[-1], 1 + np.exp(x), rtol=1e-12)
    np.testing.assert_allclose(gradient(x, np.array(False))[-1], np.cos(x), rtol=1e-12)


def test_an_optional_value_may_be_given_as_the_run_decides(tmp_path: Path) -> None:
    text = """m (double[N] x, bool f) => (double[N] y) {
        o = If (f) <
            then_branch = yes () => (optional(double[N]) p) { e = Exp (x)  p = Optional (e) },
            else_branch = no () => (optional(double[N]) q) { q = Optional <type = optional(double[2])> () }>
        h = OptionalHasElement (o)
        y = If (h) <
            then_branch = has () => (double[N] u) { g = OptionalGetElement (o)  u = Mul (g, g) },
            else_branch = none () => (double[N] w) { w = Sin (x) }> }"""
    gradient = ps.split(ps.load(saved(tmp_path, text)), wrt="x", seed="ones").joint()
    x = drawn(3)
    for flag, y, dx in ((True, np.exp(2 * x), 2 * np.exp(2 * x)), (False, np.sin(x), np.cos(x))):
        found = gradient(x, np.array(flag))
        np.testing.assert_allclose(found[0], y, rtol=1e-12)
        np.testing.assert_allclose(found[1], dx, rtol=1e-12)


def test_an_optional_value_may_be_given_by_a_step_of_a_loop(tmp_path: Path) -> None:
    text = """m (double[N, 2] x) => (double y) {
        o = Optional <type = double[2]> ()
        shape = Shape (x)
        zero = Constant <value = int64 {0}> ()
        steps = Gather (shape, zero)
        yes = Constant <value = bool {1}> ()
        s = Loop (steps, yes, o) <body = step (int64 i, bool c, optional(double[2]) p)
                                         => (bool d, optional(double[2]) q) {
            d = Identity (c)
            row = Gather (x, i)
            has = OptionalHasElement (p)
            v = If (has) <then_branch = later () => (double[2] t) { g = OptionalGetElement (p) t = Mul (g, row) },
                         else_branch = first () => (double[2] f) { f = Exp (row) }>
            q = Optional (v) }>
        z = OptionalGetElement (s)
        y = ReduceSum <keepdims = 0> (z) }"""
    path = saved(tmp_path, text)
    gradient = ps.split(ps.load(path), seed="ones").joint()
    for rows in (1, 3):
        x = drawn(rows, 2)
        value, slope = gradient(x)
        parts = np.vstack([np.exp(x[:1]), x[1:]])
        np.testing.assert_allclose(value, np.prod(parts, axis=0).sum())
        np.testing.assert_allclose(value, onnxruntime.InferenceSession(path).run(None, {"x": x})[0])
        np.testing.assert_allclose(slope, np.prod(parts, axis=0) / np.vstack([np.ones((1, 2)), x[1:]]))
    with pytest.raises(RunError):
        gradient(np.zeros((0, 2)))
