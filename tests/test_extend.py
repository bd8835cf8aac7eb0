"""`primsplit.extend`: the door by which the tables are filled, and an operator of a user's own that goes through it."""

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnxruntime
import pytest
from onnx import TensorProto, helper

import primsplit as ps
from primsplit import extend
from primsplit.ir.errors import RuleError, UnsupportedFunction
from tests.registered import only_here


@pytest.fixture(autouse=True)
def _only_here() -> Iterator[None]:
    """Undo registrations after each test."""
    with only_here():
        yield


@pytest.mark.parametrize("name", extend.__all__)
def test_a_name_of_the_door_says_what_it_does(name: str) -> None:
    assert len((inspect.getdoc(getattr(extend, name)) or "").split()) > 3


@pytest.mark.parametrize("name", [name for name in extend.__all__ if inspect.isfunction(getattr(extend, name))])
def test_a_function_of_the_door_has_an_example_that_gives_what_it_says(name: str) -> None:
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(extend, name)) or "", {}, name, None, 0)
    assert found.examples
    found.globs = {"np": np, "ps": ps, "extend": extend, "__name__": "example"}
    told: list[str] = []
    doctest.DocTestRunner().run(found, out=told.append)
    assert not told, "".join(told)


X = np.array([[0.5, -1.25, 2.0], [3.0, -0.25, 0.125]])


def swoosh_model(path: Path) -> Path:
    """A file whose two nodes are acme::Swoosh, one with an attribute, between standard ones."""
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Swoosh", ["h"], ["a"], domain="acme", beta=0.5),
            helper.make_node("Swoosh", ["a"], ["y"], domain="acme"),
        ],
        "acme_model",
        [tensor("x", TensorProto.DOUBLE, ["N", 3])],
        [tensor("y", TensorProto.DOUBLE, ["N", 2])],
        [helper.make_tensor("w", TensorProto.DOUBLE, [3, 2], W.ravel().tolist())],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


W = np.array([[0.5, -1.0], [1.5, 0.25], [-0.75, 2.0]])


def plain_swoosh(x: np.ndarray, beta: float = 1.0) -> np.ndarray:
    """Return the operator's result, by NumPy alone."""
    return x / (1.0 + np.exp(-beta * x))


def expected(x: np.ndarray) -> np.ndarray:
    return plain_swoosh(plain_swoosh(x @ W, 0.5))


def differences(f: Any, x: np.ndarray) -> np.ndarray:
    """The central differences of a function with one number as its result."""
    found = np.empty_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        found[index] = (f(x + step) - f(x - step)) / 2e-6
    return found


def define_swoosh() -> Any:
    @extend.defines("acme", "Swoosh")
    def swoosh(x: Any, *, beta: float = 1.0) -> Any:
        return x / (1.0 + np.exp(-beta * x))

    return swoosh


def give_rule(swoosh: Any, *, seen: list[str]) -> None:
    @extend.rrule("acme::Swoosh")
    def swoosh_rule(x: Any, *, beta: float = 1.0) -> Any:
        seen.append("rule")
        s = 1.0 / (1.0 + np.exp(-beta * x))
        return x * s, lambda dy: (dy * (s + beta * x * s * (1.0 - s)),)


def give_batch(swoosh: Any, *, seen: list[str]) -> None:
    @extend.batch("acme::Swoosh")
    def swoosh_batch(batched: Any, x: Any, *, beta: float = 1.0) -> Any:
        seen.append("batch")
        return swoosh(x, beta=beta)


@pytest.mark.parametrize("has_rules", [False, True], ids=["derived", "given"])
def test_an_operator_of_a_users_domain_is_loaded_differentiated_batched_and_exported(
    has_rules: bool, tmp_path: Path
) -> None:
    seen: list[str] = []
    swoosh = define_swoosh()
    if has_rules:
        give_rule(swoosh, seen=seen)
        give_batch(swoosh, seen=seen)
    model = ps.load(swoosh_model(tmp_path / "acme.onnx"))
    assert [op.kind for op in model.block.ops] == ["MatMul", "call::acme::Swoosh", "call::acme::Swoosh"]
    assert str(model.block.results[0].type) == "float64[N,2]"
    np.testing.assert_allclose(model(X), expected(X), rtol=1e-12)

    slope = differences(lambda x: expected(x).sum(), X)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(model(x)))(X), slope, rtol=1e-7, atol=1e-9)
    tangent = ps.jvp(lambda x: np.sum(model(x)), (X,), (np.ones_like(X),))[1]
    np.testing.assert_allclose(tangent, slope.sum(), rtol=1e-7)
    curvature = ps.hessian(lambda x: np.sum(model(x)))(X[:1])[0, :, 0]
    for row, i in zip(curvature, range(3), strict=True):
        wanted = differences(lambda x, i=i: ps.grad(lambda z: np.sum(model(z)))(x)[0, i], X[:1])
        np.testing.assert_allclose(row, wanted[0], rtol=1e-5, atol=1e-7)

    batch = np.stack([X, 2.0 * X])
    np.testing.assert_allclose(ps.vmap(model)(batch), np.stack([expected(x) for x in batch]), rtol=1e-12)
    each = ps.vmap(lambda x: ps.grad(lambda z: np.sum(model(z)))(x))(batch)
    np.testing.assert_allclose(each[0], slope, rtol=1e-7, atol=1e-9)

    ps.export(lambda x: np.sum(model(x)), ps.spec("float64", ["N", 3]), path=tmp_path / "joint.onnx")
    written = onnx.load(tmp_path / "joint.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert {node.domain for node in written.graph.node} <= {"", "ai.onnx"}
    session = onnxruntime.InferenceSession(tmp_path / "joint.onnx", providers=["CPUExecutionProvider"])
    value, gradient = session.run(None, {"x": X})
    np.testing.assert_allclose(value, expected(X).sum(), rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7, atol=1e-9)
    assert set(seen) == ({"rule", "batch"} if has_rules else set())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_function_is_one_of_numpy_models_too(dtype: str) -> None:
    swoosh = define_swoosh()
    x = X.astype(dtype)
    np.testing.assert_array_equal(swoosh(x), plain_swoosh(x))
    found = ps.trace(lambda z: np.tanh(swoosh(z, beta=2.0)), ps.spec(dtype, ["N", 3]))
    assert [op.kind for op in found.block.ops] == ["call::acme::Swoosh", "Tanh"]
    assert str(found.block.results[0].type) == f"{dtype}[N,3]"
    rounding = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    np.testing.assert_allclose(found(x), np.tanh(plain_swoosh(x, 2.0)), rtol=rounding)


def test_a_rule_that_comes_after_the_model_is_read_is_in_the_next_one(tmp_path: Path) -> None:
    swoosh = define_swoosh()
    path = swoosh_model(tmp_path / "acme.onnx")
    ps.load(path)
    ps.rrule(swoosh)(lambda x, *, beta=1.0: (swoosh(x, beta=beta), lambda dy: (dy * 7.0,)))
    gradient = ps.grad(lambda x: np.sum(ps.load(path)(x)))(X)
    np.testing.assert_allclose(gradient, np.ones((2, 2)) @ W.T * 49.0)


def test_an_operator_with_several_outputs_and_an_input_left_out(tmp_path: Path) -> None:
    @extend.defines("acme", "Halves")
    def halves(x: Any, scale: Any = None, *, axis: int = -1) -> Any:
        low, high = np.split(x, 2, axis=axis)
        return (low, high) if scale is None else (low * scale, high * scale)

    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Halves", ["x"], ["a", "b"], domain="acme", axis=0),
            helper.make_node("Halves", ["b", "s"], ["y"], domain="acme"),
        ],
        "halves",
        [tensor("x", TensorProto.DOUBLE, [4, 6]), tensor("s", TensorProto.DOUBLE, [])],
        [tensor("a", TensorProto.DOUBLE, [2, 6]), tensor("y", TensorProto.DOUBLE, [2, 3])],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "halves.onnx")
    x = np.arange(24.0).reshape(4, 6)
    first, second = ps.load(tmp_path / "halves.onnx")(x, np.array(2.0))
    np.testing.assert_array_equal(first, x[:2])
    np.testing.assert_array_equal(second, 2.0 * x[2:, :3])


def test_a_node_that_nobody_has_defined_says_how_to_define_it(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFunction, match=r"Define it, extend\.defines\('acme', 'Swoosh'\)"):
        ps.load(swoosh_model(tmp_path / "acme.onnx"))


def test_a_node_that_is_called_like_one_that_is_defined_is_told_of_it(tmp_path: Path) -> None:
    extend.defines("acme", "Swooosh")(lambda x: x)
    with pytest.raises(UnsupportedFunction, match="Did you mean acme::Swooosh") as caught:
        ps.load(swoosh_model(tmp_path / "acme.onnx"))
    assert len(str(caught.value).splitlines()) < 10


def test_a_node_of_another_form_is_told_at_its_place(tmp_path: Path) -> None:
    extend.defines("acme", "Swoosh")(lambda x: x)
    with pytest.raises(UnsupportedFunction, match="unexpected keyword argument 'beta'"):
        ps.load(swoosh_model(tmp_path / "acme.onnx"))


REFUSED = [
    ("operator", lambda: extend.operator("acme", "Swosh"), "Did you mean acme::Swoosh"),
    ("an operator of another domain", lambda: extend.operator("com.microsoft::BiasGelo"), "com.microsoft::BiasGelu"),
    ("rrule", lambda: extend.rrule("acme::Swosh"), "Did you mean acme::Swoosh"),
    ("rrule without a domain", lambda: extend.rrule("Swooosh"), "Did you mean .*acme::Swoosh"),
    ("frule without a domain", lambda: extend.frule("Swooosh"), "Did you mean .*acme::Swoosh"),
    ("batch without a domain", lambda: extend.batch("Swooosh"), "Did you mean .*acme::Swoosh"),
    ("decompose without a domain", lambda: extend.decompose("Swooosh"), "Did you mean .*acme::Swoosh"),
    ("frule", lambda: extend.frule("acme::Swosh"), "Did you mean acme::Swoosh"),
    ("batch", lambda: extend.batch("acme::Swosh"), "Did you mean acme::Swoosh"),
    ("decompose", lambda: extend.decompose("Swoosh"), "Did you mean Swish|no operator"),
    ("a pattern", lambda: extend.pattern.Swoosh, "Did you mean Swish|no operator"),
    ("partials", lambda: extend.partials("Swoosh", 1.0), "Did you mean Swish|no operator"),
    ("a standard operator", lambda: extend.defines("Tanh")(lambda x: x), "Tanh is an operator of the standard"),
]


@pytest.mark.parametrize(("register", "told"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_would_never_be_used_is_refused_at_the_users_line(register: Any, told: str) -> None:
    define_swoosh()
    with pytest.raises(RuleError, match=told) as caught:
        register()
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


def test_another_module_replaces_a_definition_only_where_it_says_so(tmp_path: Path) -> None:
    define_swoosh()
    define_swoosh()  # the same module may run a cell again

    def other(x: Any, *, beta: float = 1.0) -> Any:
        return x * 10.0

    other.__module__ = "theirs"
    with pytest.raises(RuleError, match="acme::Swoosh has a definition already"):
        extend.defines("acme::Swoosh")(other)
    path = swoosh_model(tmp_path / "acme.onnx")
    np.testing.assert_allclose(ps.load(path)(X), expected(X))
    extend.defines("acme::Swoosh", replace=True)(other)
    np.testing.assert_allclose(ps.load(path)(X), X @ W * 100.0)
