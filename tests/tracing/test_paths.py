"""A weight has a name wherever the user's object holds it."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import primsplit as ps
from primsplit.audit.math_style import list_as_mathematics
from primsplit.audit.written import read_written
from primsplit.tracing.paths import name_of_path, path_to

W = np.arange(12.0).reshape(3, 4)
MODEL = SimpleNamespace(w=W.copy(), layers=[SimpleNamespace(b=np.arange(4.0))])
PARAMS: dict[str, Any] = {"w1": W.copy(), "deep": {"k": (W.copy(),)}}


class Holder:
    weight = W + 1.0

    @property
    def trap(self) -> Any:
        raise AssertionError("a property ran")


def test_an_array_is_found_under_the_shortest_path_that_the_function_reads() -> None:
    def read(x: Any) -> Any:
        return x @ MODEL.w + MODEL.layers[0].b, PARAMS, Holder().trap, Holder.weight, layer.b

    layer = SimpleNamespace(b=np.zeros(2))

    def path(array: Any) -> str:
        frame: Any = SimpleNamespace(f_code=read.__code__, f_locals={"layer": layer}, f_globals=globals())
        return path_to(array, frame)

    wanted = {
        "MODEL.w": MODEL.w,
        "MODEL.layers[0].b": MODEL.layers[0].b,
        "PARAMS['w1']": PARAMS["w1"],
        "PARAMS['deep']['k'][0]": PARAMS["deep"]["k"][0],
        "Holder.weight": Holder.weight,
        "layer.b": layer.b,
        "MODEL.w.T": MODEL.w.T,
        "PARAMS['w1'].T": PARAMS["w1"].T,
        "": np.zeros(2),
    }
    assert {found: path(array) for found, array in wanted.items()} == {found: found for found in wanted}


def test_a_list_that_holds_itself_ends_the_search() -> None:
    own: list[Any] = [1.0]
    own.append(own)
    assert path_to(np.zeros(1), sys._getframe()) == ""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("w", "w"),
        ("self.w", "w"),
        ("MODEL.encoder.w", "w"),
        ("params['w1']", "w1"),
        ("layers[0].w", "layers_0_w"),
        ("self.layers[1].norm.b", "layers_1_norm_b"),
        ("pair[1]", "pair_1"),
        ("", ""),
    ],
)
def test_a_name_is_the_end_of_a_path_from_the_first_index_on(path: str, name: str) -> None:
    assert name_of_path(path) == name


def test_the_file_and_its_listing_have_the_names_of_weights(tmp_path: Any) -> None:
    def predict(x: Any) -> Any:
        return np.sum(np.tanh(x @ MODEL.w + MODEL.layers[0].b) @ PARAMS["w1"].T)

    path = str(tmp_path / "f.onnx")
    ps.export(predict, np.ones((2, 3)), path=path)
    assert {"w", "layers_0_b"} <= {t.name for t in onnx.load(path).graph.initializer}
    assert "tanh(x @ w + layers_0_b)" in list_as_mathematics(read_written(path))


def test_a_transpose_has_the_name_of_its_array_and_other_views_have_none() -> None:
    def read(x: Any) -> Any:
        return x @ W.T

    frame: Any = SimpleNamespace(f_code=read.__code__, f_locals={"square": SQUARE}, f_globals=globals())
    assert path_to(W.T, frame) == "W.T"
    assert name_of_path("W.T") == "W_T"
    assert name_of_path("MODEL.layers[0].w.T") == "layers_0_w_T"
    for other in (W[::-1].T, W.T[1:], W.T.copy(), (W + 0.0).T, SQUARE[:, ::-1].T, W.T.view(np.int64)):
        assert path_to(other, frame) == ""


SQUARE = np.arange(9.0).reshape(3, 3)
