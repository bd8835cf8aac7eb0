"""First values of a loop, what a step keeps and a layer's gradients are one statement each."""

import ast

from primsplit.audit.mathematics.joining import joined, with_checked_results
from primsplit.audit.mathematics.shown import Shown
from primsplit.audit.mathematics.simplify import text_of
from primsplit.ir import Op
from primsplit.ir.errors import Place

LOOP, ROW = Op("Scan", (), (), {}), Op("Mul", (), (), {}, Place("f.py", 3, "f"))


def line(target: str, value: str, op: Op = ROW, *, is_passed: bool = False) -> Shown:
    return Shown(op=op, ops=[], target=target, value=ast.parse(value, mode="eval").body, is_passed=is_passed)


def texts(lines: list[Shown]) -> list[str]:
    return [f"{x.target} = {text_of(x.value)}" for x in joined(lines, {}) if x.value is not None]


def test_first_values_of_a_loop_are_one_statement() -> None:
    loop = Shown(op=LOOP, ops=[], head="for t in range(T):", below=[line("h", "h * 2")])
    first = [line("h", "0", LOOP, is_passed=True), line("total", "1", LOOP, is_passed=True)]
    assert texts([*first, loop]) == ["h, total = (0, 1)"]


def test_a_first_value_that_another_one_reads_stays_alone() -> None:
    loop = Shown(op=LOOP, ops=[], head="for t in range(T):", below=[line("h", "h * 2")])
    first = [line("h", "0", LOOP, is_passed=True), line("total", "h + 1", LOOP, is_passed=True)]
    assert len(texts([*first, loop])) == 2


def test_a_step_keeps_its_value_where_it_assigns_it() -> None:
    (found,) = joined([line("h", "tanh(w * h)"), line("hs[t]", "h", is_passed=True)], {})
    assert (found.target, found.kept, found.targets) == ("h", "hs[t]", ["h", "hs[t]"])


def test_a_value_that_changed_before_it_is_kept_is_kept_there() -> None:
    lines = [line("h", "tanh(w)"), line("g, h", "h, g"), line("hs[t]", "h", is_passed=True)]
    assert len(joined(lines, {})) == 3


def test_the_gradients_of_a_layer_are_one_statement_the_weights_first() -> None:
    lines = [line("d_b", "sum(d_z, axis=0)"), line("d_w", "hidden.T @ d_z")]
    assert texts(lines) == ["d_w, d_b = (hidden.T @ d_z, sum(d_z, axis=0))"]


def test_a_sum_of_another_cotangent_is_another_statement() -> None:
    assert len(texts([line("d_b", "sum(d_y, axis=0)"), line("d_w", "hidden.T @ d_z")])) == 2


def test_the_gradients_of_a_layer_are_one_statement_around_that_by_its_input() -> None:
    lines = [line("d_b", "sum(d_z, axis=0)"), line("d_x", "d_z @ w.T"), line("d_w", "x.T @ d_z")]
    assert texts(lines) == ["d_x = d_z @ w.T", "d_w, d_b = (x.T @ d_z, sum(d_z, axis=0))"]


def test_a_gradient_that_a_statement_between_reads_stays() -> None:
    lines = [line("d_b", "sum(d_z, axis=0)"), line("d_x", "d_z * d_b"), line("d_w", "x.T @ d_z")]
    assert len(texts(lines)) == 3


def test_the_gradients_of_a_scale_and_a_shift_are_one_statement() -> None:
    lines = [line("d_shift", "sum(d_y, axis=0)"), line("d_scale", "sum(d_y * x, axis=0)")]
    assert texts(lines) == ["d_scale, d_shift = (sum(d_y * x, axis=0), sum(d_y, axis=0))"]


def test_a_result_has_the_name_that_it_has_once_it_is_checked() -> None:
    checked = line("factor", "cholesky_k")
    checked.note = "raises LinAlgError: Matrix is not positive definite"
    lines = [line("cholesky_k", "cholesky(k)"), line("d", "diagonal(cholesky_k)"), checked, line("y", "sum(factor)")]
    found = with_checked_results(lines, frozenset())
    assert texts(found) == ["factor = cholesky(k)", "d = diagonal(factor)", "y = sum(factor)"]
    assert found[0].note == checked.note


def test_a_result_of_the_users_is_not_renamed_by_its_check() -> None:
    checked = line("factor", "c")
    checked.note = "raises ValueError: c"
    lines = [line("c", "cholesky(k)"), checked]
    assert texts(with_checked_results(lines, frozenset({"c"}))) == ["c = cholesky(k)", "factor = c"]
