"""Policies: what the forward pass keeps, and gradients that are the same whatever it is."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings

import primsplit as ps
from primsplit.errors import PrimsplitError, SpecError
from primsplit.ir import Op
from primsplit.ops import op
from primsplit.policies import POLICIES, recompute_cheap
from tests.networks import NAMES, light_network, random_inputs
from tests.programs.drawn import Step, call, programs

Function = Callable[..., Any]


def quadratic_log(c: Any) -> Any:
    d = c - 18
    q = 0.25 * d**2
    return np.sum(np.log1p(q))


def stored(made: ps.SplitProgram) -> dict[str, str]:
    """The bytes of each array that the forward pass keeps."""
    return {row["name"]: row["bytes"] for row in made.capture_table() if row["kind"] == "intermediate"}


def products(found: Op) -> bool:
    return found.kind == "MatMul"


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


# The same gradients.


def classifier(w1: Any, w2: Any, x: Any, target: Any) -> Any:
    scores = np.tanh(x @ w1) @ w2
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    p = e / np.sum(e, axis=-1, keepdims=True)
    return -np.mean(np.sum(target * np.log(p + 1e-9), axis=-1))


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) / 2.0
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.sum((e / np.sum(e, axis=-1, keepdims=True) @ v) ** 2)


def norm(x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return np.sum((centred / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)) ** 3)


def branches(x: Any) -> Any:
    y = np.exp(np.sin(x) * 2)
    z = np.tanh(y) * y if np.sum(y) > 3.0 else np.cos(y)
    return np.sum(z * np.sqrt(y))


def steps(h: Any, xs: Any) -> Any:
    start = np.tanh(h * 1.5)

    def step(h: Any, x: Any) -> Any:
        new = np.tanh(h * x + 0.1)
        return new, new * x

    last, ys = ps.scan(step, start, np.exp(xs))
    return np.sum(last * last) + np.sum(ys * ys * np.sum(start))


def chosen(x: Any) -> Any:
    y = np.exp(x)
    z = y[y > 1.0] * 2
    return np.sum(np.sin(z) * z)


def written(x: Any) -> Any:
    y = np.exp(x)
    y[0] = y[1] * y[2]
    return np.sum(y * y * np.sin(y))


def gathered(x: Any, i: Any) -> Any:
    return np.sum(np.exp(x * 2)[i] ** 2)


def solved(a: Any, b: Any) -> Any:
    return np.sum(np.linalg.solve(a @ a.T + np.eye(3), b) ** 2)


def wavy(x: Any) -> Any:
    y = np.exp(x)
    return np.sum(np.cumsum(y, axis=0) * np.tanh(y)), y


random = np.random.default_rng(1)
CASES = [
    (classifier, [(5, 4), (4, 3), ("N", 5), ("N", 3)]),
    (attention, [("B", "N", 4), ("B", "N", 4), ("B", "N", 4)]),
    (norm, [("N", 4)]),
    (branches, [("N",)]),
    (steps, [(3,), ("T",)]),
    (chosen, [("N",)]),
    (solved, [(3, 3), (3,)]),
    (wavy, [("N", 2)]),
]
SIZES = {"N": 4, "B": 2, "T": 5}


def in_all_forms(made: ps.SplitProgram, args: list[np.ndarray], seeds: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Results and gradients of the joint program, and of the forward and the backward program."""
    joint = made.joint()
    named = dict(zip(made.program.inputs, args, strict=True)) | dict(zip(made.cotangent_names, seeds, strict=False))
    forward, backward = made.forward, made.backward
    named.update(zip(forward.outputs, forward.session()(*(named[n] for n in forward.inputs)), strict=True))
    apart = [named[n] for n in made.program.outputs]
    apart += backward.session()(*(named[n] for n in backward.inputs))
    return [list(joint.session()(*(named[n] for n in joint.inputs))), apart]


@pytest.mark.parametrize("sizes", [SIZES, dict.fromkeys(SIZES, 1)], ids=["some", "one"])
@pytest.mark.parametrize(("function", "shapes"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_are_those_of_the_default_under_every_policy(
    function: Function, shapes: list[tuple[Any, ...]], sizes: dict[str, int]
) -> None:
    specs = [ps.spec("float64", shape) for shape in shapes]
    args = [random.standard_normal([sizes.get(d, d) for d in shape]) for shape in shapes]
    usual = ps.split(function, *specs)
    seeds = [np.ones([sizes.get(str(d), d) for d in r.type.shape or ()]) for r in usual.program.block.results]
    wanted = in_all_forms(usual, args, seeds)[0]
    for policy in ("save_all", "recompute_cheap", "nothing", products):
        for found in in_all_forms(ps.split(function, *specs, policy=policy), args, seeds):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_no_dtype_is_left(dtype: str) -> None:
    made = [ps.split(branches, ps.spec(dtype, ["N"]), policy=p).joint() for p in POLICIES]
    for count in (3, 1, 0):
        x = np.linspace(-1, 1, count).astype(dtype)
        wanted = made[0](x)
        for program, (a, b) in itertools.product(made[1:], enumerate(wanted)):
            assert program(x)[a].dtype == dtype
            np.testing.assert_array_equal(program(x)[a], b)


@pytest.mark.parametrize(("function", "args"), [(written, [4]), (gathered, [5])])
def test_writes_and_gathers_are_computed_again_in_their_order(function: Function, args: list[int]) -> None:
    given = [random.standard_normal(n) for n in args] + ([np.array([0, 1, 1, 3])] if function is gathered else [])
    wanted = ps.split(function, *given).joint()(*given)
    for a, b in zip(ps.split(function, *given, policy="nothing").joint()(*given), wanted, strict=True):
        np.testing.assert_array_equal(a, b)


QUIET = [HealthCheck.too_slow, HealthCheck.filter_too_much]
DRAWN = [random.standard_normal((3, 2)), random.standard_normal(3), random.standard_normal((2, 3))]


@given(programs(DRAWN))
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=QUIET)
def test_a_random_program_has_one_gradient_under_every_policy(program: list[Step]) -> None:
    check_drawn(program)


@pytest.mark.slow
@given(programs(DRAWN, most=14))
@settings(max_examples=400, deadline=None, suppress_health_check=QUIET)
def test_many_long_random_programs_have_one_gradient_under_every_policy(program: list[Step]) -> None:
    check_drawn(program)


def check_drawn(program: list[Step]) -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        return call(program, x, y, z)

    usual = ps.split(function, *DRAWN)
    shapes = [r.type.shape for r in usual.program.block.results]
    seeds = [np.cos(np.arange(np.prod(s), dtype=float)).reshape(s) for s in shapes if s is not None]
    wanted = in_all_forms(usual, DRAWN, seeds)[0]
    for policy in ("save_all", "recompute_cheap", "nothing"):
        for found in in_all_forms(ps.split(function, *DRAWN, policy=policy), DRAWN, seeds):
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=" ; ".join(s.text for s in program))


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


def test_a_gradient_of_a_gradient_has_a_policy_of_its_own() -> None:
    args = [random.standard_normal((4, 4)) for _ in range(3)]
    first = ps.split(perceptron, args[:2], args[2], wrt="weights", policy="nothing").joint()
    seconds = [
        ps.split(first, *args, wrt=[0, 1], of=[1, 2], policy=policy, seed="ones").joint()(*args) for policy in POLICIES
    ]
    for found, (position, wanted) in itertools.product(seconds[1:], enumerate(seconds[0])):
        np.testing.assert_allclose(found[position], wanted, rtol=1e-11, atol=1e-14)
    plain = ps.split(perceptron, args[:2], args[2], wrt="weights").joint()
    wanted_all = ps.split(plain, *args, wrt=[0, 1], of=[1, 2], seed="ones").joint()(*args)
    for a, b in zip(seconds[0], wanted_all, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)


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


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "squeezenet" else pytest.mark.slow) for n in NAMES])
def test_a_network_has_one_gradient_under_every_policy(name: str, tmp_path: Any) -> None:
    network, path = light_network(name), str(tmp_path / "network.onnx")
    onnx.save(network, path)
    inputs, model = random_inputs(network), ps.load(path)
    usual, *others = (ps.split(model, policy=p).joint() for p in ("default", "recompute_cheap", "nothing"))
    cotangent = random.standard_normal(usual.types[-1].shape).astype(np.float32)
    wanted = usual(*inputs.values(), cotangent)
    for program in others:
        for a, b in zip(program(*inputs.values(), cotangent), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5 * float(np.abs(b).max(initial=0)))


# What is refused.


def test_a_name_that_no_value_has_is_refused_with_those_that_are_near() -> None:
    with pytest.raises(SpecError, match=r"keeps 'hiden'.*\n.*there are hidden"):
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
