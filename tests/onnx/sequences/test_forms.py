"""The forms of a sequence: what tensors can tell of its elements, and what is refused."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.reference
import pytest

import primsplit as ps
from primsplit.ir.errors import ParseError, PrimsplitError, UnsupportedFunction
from tests.onnx.sequence_rows import drawn
from tests.onnx.sequences.subjects import model, saved

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


@pytest.mark.parametrize(("text", "error", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_tensors_cannot_tell_is_refused_by_name(
    text: str, error: type[PrimsplitError], told: str, tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        ps.load(saved(tmp_path, text))
    assert told in str(caught.value)
    assert str(caught.value).count("\n") < 10
