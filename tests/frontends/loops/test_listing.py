"""The listings of a nest and its derivative."""

import pytest

import primsplit as ps
from primsplit.frontends.loops.derivation import derive
from primsplit.frontends.loops.listing import applied, linear_text, list_derivation, list_nest
from primsplit.frontends.loops.notation import parse_notation
from primsplit.frontends.loops.sizes import check

AMULB = """\
amulb(C[:, :], A[:, :], B[:, :]):
  for m in range(A.shape[0]), n in range(B.shape[1]), k in range(A.shape[1])
  a[m, k] = A[m, k]
  b[n, k] = B[k, n]
  c[m, n, k] = a * b
  d[m, n] = sum(c for k)
  C.1[m, n] += d  # else C
  return C.1"""


def test_amulb_prints_its_loops_and_what_each_line_depends_on() -> None:
    assert list_nest(parse_notation("C[m,n] += A[m,k]*B[k,n]", name="amulb")) == AMULB


def test_a_derivation_prints_both_nests_and_where_the_reverse_has_its_values_from() -> None:
    nest = parse_notation("t := log1p(0.25*(C[i]-18)**2)", name="loss")
    listed = list_derivation(derive(nest, ["C"], threshold=0.0), check(nest, {"C": (5,)}))
    assert (
        listed
        == """\
loss(C[:]):
  for i in range(C.shape[0])
  a[i] = C[i]
  b[i] = a - 18
  c[i] = square(b)
  d[i] = 0.25 * c
  e[i] = log1p(d)
  f = sum(e for i)
  t = f
  kept1[i] = b
  kept2[i] = d
  return t, kept1, kept2

loss reverse(d_t, kept1[:], kept2[:]):
  for i in range(C.shape[0])
  a[i] = kept1[i]
  b[i] = 2.0 * a
  c = d_t
  d[i] = kept2[i]
  e[i] = 1.0 + d
  f[i] = c / e
  g[i] = f * 0.25
  h[i] = b * g
  d_C[i] = h
  return d_C

read by the reverse nest (2 kept):
  kept: kept1[i] = b: 0.5 to compute, [5] 40 B
  kept: kept2[i] = d: 1 to compute, [5] 40 B"""
    )


def test_what_is_cheap_is_told_to_be_computed_again() -> None:
    nest = parse_notation("t := log1p(0.25*(C[i]-18)**2)")
    listed = list_derivation(derive(nest, ["C"]))
    assert listed.endswith("""\
read by the reverse nest (0 kept):
  computed again: b: 0.5 to compute
  computed again: d: 1.5 to compute""")


def test_what_a_result_holds_is_told_to_be_read_from_it() -> None:
    listed = list_derivation(derive(parse_notation("r[i] := x[i,j]**2 |> sqrt"), ["x"]))
    assert listed.endswith("read from a result: d: much to compute")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("y[i] := x[i-1] + z[2*i+1]", "for i in range(1, min(x.shape[0] + 1, (z.shape[0] // 2)))"),
        ("y[i] := x[clamp(i - 1)]*x[pad(i + 1, 2)]", "b[i] = x[pad(i + 1, 2)]"),
        ("y[rows[i]] += x[i]", "y.1[rows[i]] += a  # else y"),
        ("y[i+a] += x[i]*k[a]", "y.1[a + i] += d  # else y"),
        ("(max) y[i] := x[i,j]", "b[i] = max(a for j)"),
        ("y[i] *= x[i,j]", "c[i] = a * prod(b for j)"),
        ("y[i] := (x[i] + 1)*2 - (1 - x[i])", "d[i] = 1 - a"),
        ("y[i] := x[i] * $n / x.shape[0]", "nest(x[:], n: int):"),
        ("y[i] := x[i] * $n / len(x)", "c[i] = b / x.shape[0]"),
        ("D[i,i] = x[i]", "D.1[i, i] = a  # else D"),
    ],
)
def test_a_line_is_written_as_its_mathematics(text: str, line: str) -> None:
    assert line in [listed.strip() for listed in list_nest(parse_notation(text)).splitlines()]


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("z[i] := x[i]*y[i]", ["d_x[i] = d_z[i] * y[i]", "d_y[i] = d_z[i] * x[i]"]),
        ("z[i] := log1p(0.25*(C[i]-18)**2)", ["a[i] = C[i] - 18"]),
        ("z[i,j] := (x[i] - y[j])**2", ["d_x[i] = sum(a for j)", "d_y[j] = sum(-a for i)"]),
        ("z[i] := x[rows[i]] * (i + 1)", ["d_x[rows[i]] += d_z[i] * (i + 1)"]),
    ],
)
def test_the_formulas_of_a_gradient_are_listed(text: str, listed: list[str]) -> None:
    lines = [line.partition("  #")[0] for line in ps.loops(text).gradient_listing().splitlines()]
    assert set(listed) <= set(lines), lines


def test_the_formulas_of_a_gradient_name_what_is_read_twice() -> None:
    assert (
        ps.loops("z[i] := log1p(0.25*(C[i]-18)**2)").gradient_listing("C")
        == """\
a[i] = C[i] - 18
d_C[i] = 2.0 * a * (d_z[i] / (1.0 + 0.25 * square(a)) * 0.25)"""
    )


@pytest.mark.parametrize(
    ("function", "operands", "text"),
    [
        ("subtract", [("a", 9), ("b - c", 5)], "a - (b - c)"),
        ("subtract", [("a - b", 5), ("c", 9)], "a - b - c"),
        ("divide", [("a", 9), ("b * c", 6)], "a / (b * c)"),
        ("power", [("a ** b", 8), ("c ** d", 8)], "(a ** b) ** c ** d"),
        ("power", [("-a", 7), ("b", 9)], "(-a) ** b"),
        ("negative", [("a + b", 5)], "-(a + b)"),
        ("logical_not", [("a < b", 4)], "not a < b"),
        ("exp", [("a + b", 5)], "exp(a + b)"),
    ],
)
def test_brackets_stand_where_they_mean_something(function: str, operands: list[tuple[str, int]], text: str) -> None:
    assert applied(function, operands)[0] == text


def test_linear_expressions_begin_with_what_is_added() -> None:
    nest = parse_notation("y[i] := x[3 - 2*i + a]*k[a]")
    load = next(line.reference for line in nest.operations if line.reference and line.reference.array == "x")
    (index,) = load.indices
    assert linear_text(index) == "a - 2*i + 3"


def test_a_sum_that_the_formulas_of_a_gradient_read_stands_in_front_unless_it_is_a_result() -> None:
    assert (
        ps.loops("y[i] := A[i,j] |> _ * sin(_)").gradient_listing()
        == """\
kept1[i] = sum(A[i, j] for j)
d_A[i, j] = d_y[i] * sin(kept1[i]) + d_y[i] * kept1[i] * cos(kept1[i])"""
    )
    assert ps.loops("y[i] := A[i,j] |> sqrt").gradient_listing() == "d_A[i, j] = 0.5 * d_y[i] / off_zero(y[i])"
