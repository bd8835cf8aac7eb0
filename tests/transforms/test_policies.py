"""Policies: what the forward pass keeps, what is computed again, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import PrimsplitError, SpecError
from primsplit.ops import op
from primsplit.transforms.policies import recompute_cheap

Function = Callable[..., Any]
random = np.random.default_rng(1)


def quadratic_log(c: Any) -> Any:
    d = c - 18
    q = 0.25 * d**2
    return np.sum(np.log1p(q))


def stored(made: ps.SplitProgram) -> dict[str, str]:
    """The bytes of each array that the forward pass keeps."""
    return {row["name"]: row["bytes"] for row in made.capture_table() if row["kind"] == "intermediate"}


@pytest.mark.parametrize(
    ("policy", "kept"),
    [
        ("default", {"q", "d"}),
        ("save_all", {"q", "d"}),
        ("recompute_cheap", set()),
        ("nothing", set()),
        (["d"], {"d"}),
        (("q",), {"q"}),
        ([], set()),
        (["c", "q", "d"], {"q", "d"}),
        (lambda found: found.kind == "Sub", {"d"}),
    ],
)
def test_a_policy_tells_which_values_are_stored(policy: Any, kept: set[str]) -> None:
    made = ps.split(quadratic_log, ps.spec("float64", ["N"]), policy=policy)
    assert stored(made) == dict.fromkeys(kept, "8*N")


def test_save_all_keeps_both_arrays_of_a_nest_and_the_default_none() -> None:
    """Row P20: the thread's loss. The square that both passes compute is a call."""
    nest = ps.loops("loss := log1p(0.25 * (c[i] - 18)**2)")
    default, all_saved = (ps.split(nest, ps.spec("float64", ["N"]), policy=p) for p in ("default", "save_all"))
    assert stored(default) == {}
    assert list(stored(all_saved).values()) == ["8*N", "8*N"]
    assert [op.kind for op in all_saved.pullback.ops].count("call::square") == 0
    c = np.array([17.0, 18.0, 20.5])
    slopes = 0.5 * (c - 18) / (1 + 0.25 * (c - 18) ** 2)
    np.testing.assert_allclose(all_saved.joint()(c)[1], slopes, rtol=1e-14)


def test_what_is_computed_again_is_told_with_its_line_and_cost() -> None:
    made = ps.split(quadratic_log, ps.spec("float64", ["N"]), policy="recompute_cheap")
    rows = {row["name"]: row for row in made.recomputed_table()}
    told = {name: (row["bytes"], row["operators"], row["cost"], row["source"]) for name, row in rows.items()}
    assert told.pop("d") == ("8*N", 1, 0.5, "d = c - 18")
    assert told.pop("q") == ("8*N", 2, 1.0, "q = 0.25 * d**2")
    assert [(row["kind"], row["cost"]) for row in rows.values() if row["name"] in told] == [("shape", 0.0)]
    assert made.capture_table()[0]["place"] == ""
    assert "computed again" in made.listing()
    rows = {row["name"]: row for row in ps.split(quadratic_log, ps.spec("float64", [3])).capture_table()}
    assert rows["d"]["source"] == "d = c - 18"


def exponential(x: Any, y: Any) -> Any:
    return np.sum(y * np.exp(x))


def root(x: Any) -> Any:
    return np.sum(np.sqrt(x + 1.0) * 2.0)


def bare_root(x: Any) -> Any:
    return np.sum(np.sqrt(x) * 2.0)


def root_returned(x: Any) -> Any:
    y = np.sqrt(x + 1.0)
    return np.sum(y), y


@pytest.mark.parametrize(
    ("function", "policy", "count"),
    [
        (exponential, "recompute_cheap", 1),
        (exponential, recompute_cheap({"Exp": 4.0}), 0),
        (root, "recompute_cheap", 1),  # 4.5, which is not less than the threshold
        (bare_root, "recompute_cheap", 0),
        (root_returned, "recompute_cheap", 0),  # stored as a result already
        (root_returned, "default", 0),
    ],
)
def test_a_value_is_computed_again_where_that_is_cheaper_than_three_loads_and_stores(
    function: Function, policy: Any, count: int
) -> None:
    arity = function.__code__.co_argcount
    made = ps.split(function, *[ps.spec("float32", [5])] * arity, of=0, policy=policy)
    assert len(stored(made)) == count


def test_an_operator_that_makes_more_elements_than_the_value_is_not_cheap() -> None:
    """The slice is of two elements, and what it is cut out of would be computed whole."""

    def function(x: Any) -> Any:
        part = (x * 2.0)[:2]
        return np.sum(part * part)

    assert len(stored(ps.split(function, ps.spec("float32", [1000]), policy="recompute_cheap"))) == 1
    assert len(stored(ps.split(function, ps.spec("float32", ["N"]), policy="recompute_cheap"))) == 1


def test_save_all_stores_what_the_pullback_would_compute_a_second_time() -> None:
    def function(x: Any, w: Any) -> Any:
        return np.sum(np.exp(x.T @ w))

    specs = ps.spec("float32", [4, 3]), ps.spec("float32", [4, 2])
    usual, all_saved = (ps.split(function, *specs, wrt="w", policy=p) for p in ("default", "save_all"))
    assert set(stored(usual).values()) == {"24"}
    assert sorted(stored(all_saved).values()) == ["24", "48"]
    assert all_saved.recomputed_table() == []


def perceptron(weights: Any, x: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w)
    return np.mean(x * x)


def test_nothing_stores_no_bytes_of_ten_layers_and_gives_the_same_gradients() -> None:
    random = np.random.default_rng(0)
    weights = [random.standard_normal((6, 6)) for _ in range(10)]
    specs = [ps.spec("float64", [6, 6])] * 10, ps.spec("float64", ["N", 6])
    nothing, usual = (ps.split(perceptron, *specs, policy=p) for p in ("nothing", "default"))
    assert {row["kind"] for row in nothing.capture_table()} == {"input"}
    assert len(nothing.forward.outputs) == 1
    assert len(usual.forward.outputs) > 10
    for rows in (7, 1, 0):
        x = random.standard_normal((rows, 6))
        for a, b in zip(nothing.joint()(*weights, x), usual.joint()(*weights, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-15)


# What must not be computed again, and what need not.


@pytest.mark.parametrize("policy", ["default", "recompute_cheap", "nothing", ["h"]])
def test_a_random_draw_is_never_repeated(policy: Any) -> None:
    def dropped(x: Any, w: Any) -> Any:
        h = np.tanh(x @ w)
        scale = np.exp(op.RandomUniformLike(h))
        return np.sum(h * h * scale), scale + 0.0

    x, w = random.standard_normal((4, 3)), random.standard_normal((3, 2))
    made = ps.split(dropped, x, w, of=0, policy=policy)
    _, scale, dx, dw = made.joint()(x, w, 1.0)
    h = np.tanh(x @ w)
    dh = 2 * h * scale * (1 - h * h)
    np.testing.assert_allclose(dx, dh @ w.T)
    np.testing.assert_allclose(dw, x.T @ dh)


def test_a_draw_is_stored_where_it_cannot_be_computed_again() -> None:
    def dropped(x: Any) -> Any:
        return np.sum(np.exp(x) * np.exp(op.RandomUniformLike(x)))

    assert list(stored(ps.split(dropped, ps.spec("float64", [4]), policy="nothing")).values()) == ["32"]


def test_what_raises_still_does() -> None:
    def guarded(x: Any) -> Any:
        y = np.exp(x)
        if np.sum(y) > 100:
            raise ValueError("too large")
        return np.sum(y * np.sin(y))

    made = ps.split(guarded, ps.spec("float64", ["N"]), policy="nothing")
    assert len(stored(made)) == 0
    for program in (made.joint(), made.forward):
        program(np.ones(2))
        with pytest.raises(PrimsplitError, match="too large"):
            program(np.full(2, 9.0))


def test_only_what_the_gradients_asked_for_read_is_computed_again() -> None:
    def function(x: Any, w: Any) -> Any:
        return np.sum(np.exp(x)) + np.sum(np.sin(x) * w)

    specs = ps.spec("float64", ["N"]), ps.spec("float64", ["N"])
    made = ps.split(function, *specs, wrt="w", policy="nothing")
    kinds = {o.kind for o in made.pullback.ops}
    assert "Sin" in kinds
    assert "Exp" not in kinds
    assert [row["name"] for row in made.capture_table()] == ["x"]


def test_an_array_is_not_kept_for_its_sizes_alone_where_a_vector_of_them_is_cheaper() -> None:
    kinds = {
        policy: [row["kind"] for row in ps.split(np.sum, ps.spec("float64", ["N"]), policy=policy).capture_table()]
        for policy in ("default", "recompute_cheap", "nothing")
    }
    assert kinds == {"default": ["shape"], "recompute_cheap": ["shape"], "nothing": ["input"]}


def test_what_is_computed_again_is_named_so() -> None:
    text = ps.split(quadratic_log, ps.spec("float64", ["N"]), policy="nothing").listing()
    for name in ("d_again", "q_again", "d_q"):
        assert f"  {name}: float64[N]" in text


def test_the_primal_keeps_no_op_that_served_a_capture_alone() -> None:
    made = ps.split(quadratic_log, ps.spec("float64", ["N"]), policy="nothing")
    assert "Shape" not in {o.kind for o in made.primal.ops}


def test_a_loaded_model_has_policies_by_the_names_of_its_values(tmp_path: Any) -> None:
    x, w = random.standard_normal((3, 4)), random.standard_normal((4, 4))
    path = str(tmp_path / "model.onnx")
    ps.trace(lambda x, w: perceptron([w, w], x), x, w).save(path)
    model = ps.load(path)
    wanted = ps.split(model).joint()(x, w)
    for policy, count in (("default", 2), ("nothing", 0)):
        made = ps.split(model, policy=policy)
        assert len(stored(made)) == count
        for a, b in zip(made.joint()(x, w), wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    first, *_ = stored(ps.split(model))
    assert list(stored(ps.split(model, policy=[first]))) == [first]


# What is refused.


def test_a_name_that_no_value_has_is_refused_with_those_that_are_near() -> None:
    with pytest.raises(SpecError, match=r"keeps 'hiden'.*\n.*nearest names are 'hidden'"):
        ps.split(hidden_layer, ps.spec("float64", [3]), policy=["hiden"])


def hidden_layer(x: Any) -> Any:
    hidden = np.exp(x)
    return np.sum(np.tanh(hidden) * hidden)


@pytest.mark.parametrize("policy", ["everything", None, 3, [1, 2]])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(SpecError, match="is no policy"):
        ps.split(hidden_layer, ps.spec("float64", [3]), policy=policy)


def test_a_policy_is_for_gradients_and_comes_before_the_split(tmp_path: Any) -> None:
    spec, path = ps.spec("float64", [3]), str(tmp_path / "a.onnx")
    with pytest.raises(SpecError, match="is for gradients"):
        ps.export(hidden_layer, spec, path=path, mode="jvp", policy="nothing")
    with pytest.raises(SpecError, match="comes too late"):
        ps.export(ps.split(hidden_layer, spec), path=path, policy="nothing")
    assert len(ps.export(hidden_layer, spec, path=path, form="split", policy="nothing")) == 2
