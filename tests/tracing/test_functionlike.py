"""Transforms as methods, pickled, and copied: what a function does, they do."""

import copy
import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import numpy as pnp

X = np.array([1.0, 2.0, 3.0])


def energy(x: Any) -> Any:
    return np.sum(x**3)


def inside(x: Any) -> Any:
    return x[0] > 0


@ps.grad
def decorated(x: Any) -> Any:
    return np.sum(np.log1p(x))


@ps.primitive
def cubed(x: Any) -> Any:
    return x**3


def arrays(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


MADE: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (ps.grad(energy), (X,)), (ps.grad(energy, wrt="x"), (X,)), (ps.grad(ps.grad(cubed)), (2.0,)),
    (ps.value_and_grad(energy), (X,)), (ps.vmap(energy, in_axes=1), (np.ones((3, 2)),)), (ps.hvp(energy), (X, X)),
    (ps.value_grad_and_hvp(energy), (X, X)), (ps.jacobian(np.sin), (X,)), (ps.value_and_jacobian(np.sin), (X,)),
    (ps.hessian(energy, chunk=2), (X,)), (ps.value_grad_and_hessian(energy), (X,)), (ps.laplacian(energy), (X,)),
    (ps.derivative(cubed), (2.0,)), (ps.value_and_derivative(cubed), (2.0,)),
    (ps.grad(ps.guarded(energy, inside)), (X,)), (decorated, (X,)), (cubed, (X,)), (ps.cached(energy), (X,)),
    (ps.cached(energy, name="e", maxsize=2), (X,)), (ps.checkpoint(energy), (X,)),
]  # fmt: skip


@pytest.mark.parametrize(("made", "args"), MADE, ids=[repr(m) for m, _ in MADE])
def test_what_is_made_of_a_function_is_pickled_and_copied(made: Callable[..., Any], args: tuple[Any, ...]) -> None:
    expected = made(*args)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
        for found, wanted in zip(arrays(again(*args)), arrays(expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


class Doubling:
    def __call__(self, x: Any) -> Any:
        return 2.0 * x


@pytest.mark.parametrize("wrap", [ps.primitive, ps.checkpoint])
@pytest.mark.parametrize(
    ("given", "name"), [(functools.partial(np.multiply, 2.0), "multiply"), (Doubling(), "Doubling")]
)
def test_a_callable_without_a_name_is_called_as_what_it_is_made_of(wrap: Any, given: Any, name: str) -> None:
    made = wrap(given)
    assert name in repr(made)
    np.testing.assert_array_equal(ps.jacobian(made)(np.ones(3)), 2.0 * np.eye(3))


def test_what_has_a_name_is_pickled_by_it() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(cubed)) is cubed


def test_what_no_name_leads_to_says_so() -> None:
    with pytest.raises(TypeError, match="no module has it under its name"):
        pickle.dumps(ps.primitive(energy))


def test_what_has_a_rule_is_pickled_by_name_alone() -> None:
    """Its wrapped function does not determine the rule."""
    made = ps.cached(energy)
    ps.rrule(made)(lambda x: (np.sum(x**3), lambda dy: (3.0 * x**2 * dy,)))
    assert copy.copy(made) is made
    assert copy.deepcopy(made) is made
    with pytest.raises(TypeError, match="no module has it under its name"):
        pickle.dumps(made)


class Model:
    """It holds the gradient of its own method."""

    def __init__(self) -> None:
        self.scale = 2.0
        self.gradient = ps.grad(self.loss)

    def loss(self, x: Any) -> Any:
        return self.scale * np.sum(x * x)

    @ps.cached
    def kept(self, x: Any) -> Any:
        return self.scale * np.sum(x)

    @ps.primitive
    def squared(self, x: Any) -> Any:
        return self.scale * x * x


class Scaled:
    """It is called like a function, and has no name."""

    scale = 2.0

    def __call__(self, x: Any) -> Any:
        return self.scale * np.sum(x * x)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_the_copy_of_an_object_has_the_gradient_of_its_own_method(duplicate: Callable[[Model], Model]) -> None:
    model = Model()
    np.testing.assert_allclose(model.gradient(X), 4.0 * X)
    other = duplicate(model)
    other.scale = 5.0
    np.testing.assert_allclose(other.gradient(X), 10.0 * X)
    np.testing.assert_allclose(model.gradient(X), 4.0 * X)


@pytest.mark.parametrize("make", [ps.cached, ps.checkpoint, ps.primitive, ps.guarded, ps.vmap, ps.hessian, ps.jvp])
@pytest.mark.parametrize("what", [functools.partial(lambda k, x: np.sum(k * x**3), 1.0), Model().loss, Scaled()])
def test_what_has_no_name_of_its_own_is_a_function_too(make: Any, what: Any) -> None:
    if make is ps.jvp:
        assert np.shape(ps.jvp(what, (X,), (X,))[1]) == ()
    elif make in {ps.vmap, ps.hessian}:
        assert len(make(what)(np.stack([X, X]) if make is ps.vmap else X)) in {2, 3}
    else:
        np.testing.assert_allclose(ps.grad(make(what))(X), ps.grad(what)(X))


class Kept:
    """It holds its own methods as one op each, one with a rule that is a method too."""

    def __init__(self) -> None:
        self.scale = 2.0
        self.cached = ps.cached(self.loss)
        self.checkpoint = ps.checkpoint(self.loss)
        self.primitive = ps.primitive(self.loss)
        self.ruled = ps.primitive(self.loss)
        ps.rrule(self.ruled)(self.rule)

    def loss(self, x: Any) -> Any:
        return self.scale * np.sum(x * x)

    def rule(self, x: Any) -> Any:
        return self.loss(x), lambda dy: (2.0 * self.scale * x * dy,)


@pytest.mark.parametrize("name", ["cached", "checkpoint", "primitive", "ruled"])
def test_the_copy_of_an_object_has_its_own_methods_as_ops(name: str) -> None:
    kept = Kept()
    other = copy.deepcopy(kept)
    other.scale = 5.0
    for each, scale in ((other, 5.0), (kept, 2.0)):
        made = getattr(each, name)
        np.testing.assert_allclose(ps.value_and_grad(made)(X)[0], scale * 14.0)
        np.testing.assert_allclose(ps.grad(made)(X), 2.0 * scale * X)


def test_as_methods_they_take_the_object_first() -> None:
    model = Model()
    np.testing.assert_allclose(model.kept(X), 12.0)
    np.testing.assert_allclose(ps.grad(model.kept)(X), [2.0, 2.0, 2.0])
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(model.squared(x)))(X), 4.0 * X)
    model.scale = 3.0
    np.testing.assert_allclose(ps.grad(model.kept)(X), [3.0, 3.0, 3.0])
    np.testing.assert_allclose(Model.kept(model, X), 18.0)


def test_a_program_is_its_own_copy_and_is_pickled_as_a_file() -> None:
    program, made = ps.trace(lambda x: pnp.log1p(x), X), ps.split(energy, X)
    assert copy.deepcopy([program, made]) == [program, made]
    assert copy.copy(program) is program
    with pytest.raises(TypeError, match=r"ps.load\(path\)"):
        pickle.dumps(program)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_a_copy_of_what_is_prepared_has_buffers_of_its_own(duplicate: Callable[[Any], Any]) -> None:
    """So that each thread may have one; results of the one stay while the other is called."""
    prepared = ps.grad(energy).prepare(X)
    other = duplicate(prepared)
    kept = prepared(X)
    np.testing.assert_allclose(other(2.0 * X), 12.0 * X**2)
    np.testing.assert_allclose(kept, 3.0 * X**2)
