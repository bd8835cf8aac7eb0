"""LinearAttention is the recurrence that the standard writes, with its gradient of first and second order."""

from typing import Any

import numpy as np
import pytest

from primsplit import spec, split, trace
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(5)
draw = drawing(rng, "float64")


def recurrence(
    query: Any,
    key: Any,
    value: Any,
    past_state: Any = None,
    decay: Any = None,
    beta: Any = None,
    *,
    q_num_heads: int,
    kv_num_heads: int,
    update_rule: str,
    scale: float = 0.0,
    chunk_size: int = 64,
) -> tuple[np.ndarray, np.ndarray]:
    """One step after another, as in the standard's text."""
    batch, length, _ = query.shape

    def heads(x: np.ndarray, count: int) -> np.ndarray:
        return x.reshape(batch, length, count, x.shape[2] // count).transpose(1, 0, 2, 3)

    q, k, v = heads(query, q_num_heads), heads(key, kv_num_heads), heads(value, kv_num_heads)
    state = np.zeros((batch, kv_num_heads, k.shape[3], v.shape[3])) if past_state is None else past_state
    factor = scale or 1 / np.sqrt(q.shape[3])
    made = np.zeros((length, batch, q_num_heads, v.shape[3]))
    for t in range(length):
        if decay is not None:
            state = np.exp(heads(decay, kv_num_heads)[t])[..., None] * state
        new = v[t]
        if beta is not None:
            new = beta[:, t, :, None] * (new - np.einsum("bhkv,bhk->bhv", state, k[t]))
        state = state + k[t][..., None] * new[:, :, None]
        each = np.repeat(state, q_num_heads // kv_num_heads, axis=1)
        made[t] = factor * np.einsum("bhkv,bhk->bhv", each, q[t])
    return made.transpose(1, 0, 2, 3).reshape(batch, length, q_num_heads * v.shape[3]), state


def inputs(rule: str, heads: int, shared: int, *, length: int = 5, state: bool = True, each: bool = False) -> list[Any]:
    """Queries, keys, values, a state, decays (for each of 3 features or one) and rates."""
    found: list[Any] = [draw(2, length, heads * 3), draw(2, length, shared * 3), draw(2, length, shared * 4)]
    found.append(draw(2, shared, 3, 4) if state else None)
    found.append(-rng.uniform(0.1, 2.0, (2, length, shared * (3 if each else 1))) if "gated" in rule else None)
    found.append(rng.uniform(0.2, 0.9, (2, length, shared)) if "delta" in rule else None)
    return found


CASES = [
    ("linear", 2, 2, {}),
    ("linear", 4, 2, {"state": False}),
    ("gated", 2, 2, {}),
    ("gated", 2, 2, {"each": True}),
    ("gated", 4, 2, {"each": True}),
    ("delta", 2, 2, {}),
    ("delta", 4, 2, {"state": False}),
    ("gated_delta", 2, 2, {}),
    ("gated_delta", 2, 2, {"each": True}),
    ("gated_delta", 4, 2, {}),
    ("gated_delta", 3, 1, {"each": True, "state": False}),
]


def made(rule: str, heads: int, shared: int, given: list[Any], chunk: int = 64) -> tuple[Any, list[Any]]:
    absent = tuple(i for i, x in enumerate(given) if x is None)
    named = {"update_rule": rule, "q_num_heads": heads, "kv_num_heads": shared, "chunk_size": chunk}
    function = operator("LinearAttention", outputs=2, reference=recurrence, absent=absent, **named)
    return function, [x for x in given if x is not None]


@pytest.mark.parametrize(("rule", "heads", "shared", "options"), CASES)
def test_linear_attention_and_its_gradient_are_those_of_the_recurrence(
    rule: str, heads: int, shared: int, options: dict[str, Any]
) -> None:
    function, given = made(rule, heads, shared, inputs(rule, heads, shared, **options))
    second = (rule, heads) in {("gated", 2), ("gated_delta", 4)}
    check_grads(function, *given, order=2 if second else 1, symbolic=False)


@pytest.mark.parametrize(
    ("rule", "heads", "options"),
    [("linear", 4, {"state": False}), ("gated", 2, {"each": True}), ("delta", 2, {}), ("gated_delta", 4, {})],
)
def test_a_sequence_cut_into_chunks_has_the_same_gradient(rule: str, heads: int, options: dict[str, Any]) -> None:
    function, given = made(rule, heads, 2, inputs(rule, heads, 2, **options), chunk=2)
    check_grads(function, *given, order=2 if rule == "gated" else 1, symbolic=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("rule", ["linear", "gated", "gated_delta"])
def test_the_length_may_be_a_symbol_of_any_number(rule: str) -> None:
    function, given = made(rule, 2, 2, inputs(rule, 2, 2))
    named = [spec(x.dtype, ["B", "T" if x.ndim == 3 else x.shape[1], *x.shape[2:]]) for x in given]
    program = trace(function, *named)
    joint = split(function, *named).joint()
    for length in (0, 1, 2, 40, 130):
        _, point = made(rule, 2, 2, inputs(rule, 2, 2, length=length))
        results = function(*point)
        for found, expected in zip(program(*point), results, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        if not length:
            continue
        cotangents = [draw(*r.shape) for r in results]
        gradients = joint(*point, *cotangents)[2:]
        again = split(function, *point).joint()(*point, *cotangents)[2:]
        for found, expected in zip(gradients, again, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def test_a_decay_of_minus_infinity_forgets_everything_and_spoils_no_gradient() -> None:
    function, given = made("gated_delta", 2, 2, inputs("gated_delta", 2, 2))
    given[4][:, 2] = -np.inf
    output, state, *gradients = split(function, *given).joint()(*given, np.ones((2, 5, 8)), np.ones((2, 2, 3, 4)))
    expected = function(*given)
    np.testing.assert_allclose(output, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(state, expected[1], rtol=1e-12, atol=1e-12)
    assert all(np.isfinite(g).all() for g in gradients)


def test_inputs_that_the_update_rule_does_not_have_are_refused() -> None:
    function, given = made("linear", 2, 2, inputs("gated", 2, 2))
    with pytest.raises(PrimsplitError, match="update_rule linear has other inputs"):
        trace(function, *given)
    function, given = made("linear", 3, 2, inputs("linear", 3, 2))
    with pytest.raises(PrimsplitError, match="3 heads of queries cannot share 2 heads of keys"):
        trace(function, *given)
