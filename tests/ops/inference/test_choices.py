"""A node that onnxruntime refuses to load is refused when the model is read."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.ir import Block, Op, Type, Var
from primsplit.ir.errors import ParseError, PrimsplitError, ShapeError
from primsplit.ops.inference.choices import check_definition
from tests.onnx.edits import node, written

Row = tuple[list[onnx.NodeProto], list[int | str], dict[str, Any]]
F, N = np.float32, np.int64
EYE, ONES = np.eye(3, dtype=F), np.ones((1, 1, 2, 2), F)
LSTM = {"w": np.ones((1, 4, 3), F), "r": np.ones((1, 4, 1), F)}


def n_grams(counts: list[int]) -> list[onnx.NodeProto]:
    """Counts of words 1, 2, 3, of which the first belong to the n-grams of length 1, and so on."""
    told = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "mode": "TF"}
    words = {"ngram_counts": counts, "ngram_indexes": [0, 1, 2], "pool_int64s": [1, 2, 3]}
    return [node("Cast", "x", "i", to=7), node("TfIdfVectorizer", "i", "y", **told, **words)]


ROWS: dict[str, Row] = {
    "TopK of more than there are": ([node("TopK", "x k", "y i")], [4, 3], {"k": N([7])}),
    "Tile by a negative number": ([node("Tile", "x r", "y")], [4, 3], {"r": N([-1, 1])}),
    "Split into more than there is": (
        [node("SplitToSequence", "x s", "q"), node("SequenceAt", "q z", "y")],
        [4, 3],
        {"s": N([2, 2**40]), "z": N(0)},
    ),
    "Split into a negative size": ([node("Split", "x s", "a y")], [4, 3], {"s": N([5, -1])}),
    "Flatten at no axis": ([node("Flatten", "x", "y", axis=3)], [4, 3], {}),
    "EyeLike of a vector": ([node("EyeLike", "x", "e"), node("Mul", "x e", "y")], [3], {}),
    "OneHot of a matrix of values": ([node("OneHot", "i d v", "y")], [3], {"i": N([0]), "d": N(2), "v": F([[0, 1]])}),
    "Gemm with a bias of three axes": ([node("Gemm", "x w c", "y")], ["N", 3], {"w": EYE, "c": F([[[1]]])}),
    "Gemm with a bias of another length": ([node("Gemm", "x w c", "y")], ["N", 3], {"w": EYE, "c": F([1, 2])}),
    "GridSample of vectors": ([node("GridSample", "x x", "y")], ["N", 3], {}),
    "Reshape to less than -1": ([node("Reshape", "x s", "y")], [4, 3], {"s": N([-3, 12])}),
    "a batch norm of other channels": ([node("BatchNormalization", "x m m m m", "y")], [2, 3, 4], {"m": F([1, 2])}),
    "a batch norm in training mode 2": (
        [node("BatchNormalization", "x m m m m", "y", training_mode=2)], [2, 3, 4], {"m": F([1, 2, 3])}
    ),
    "Resize of an unknown mode": ([node("Resize", "x - c", "y", mode="nmarest")], [4, 3], {"c": F([1, 2])}),
    "Resize by one factor": ([node("Resize", "x - c", "y")], [4, 3], {"c": F([2])}),
    "Pad of an unknown mode": ([node("Pad", "x p", "y", mode="symmetric")], [4, 3], {"p": N([1, 1, 1, 1])}),
    "GridSample of an unknown padding": (
        [node("GridSample", "x g", "y", padding_mode="wrap")], [1, 1, 4, 4], {"g": np.zeros((1, 2, 2, 2), F)}
    ),
    "DepthToSpace of an unknown mode": ([node("DepthToSpace", "x", "y", blocksize=2, mode="DRC")], [1, 4, 2, 2], {}),
    "Mod with two flags": ([node("Mod", "x x", "y", fmod=2)], [4], {}),
    "Resize that leaves out twice": ([node("Resize", "x - c", "y", exclude_outside=2)], [4, 3], {"c": F([1, 2])}),
    "LpNormalization of order 3": ([node("LpNormalization", "x", "y", p=3)], [4], {}),
    "Conv of an unknown padding": ([node("Conv", "x w", "y", auto_pad="SAME")], [1, 1, 4, 4], {"w": ONES}),
    "an LSTM of an unknown direction": (
        [node("LSTM", "x w r", "y", hidden_size=1, direction="back")],
        [2, 1, 3],
        {"w": np.ones((1, 4, 3), F), "r": np.ones((1, 4, 1), F)},
    ),
    "an LSTM that clips at -1": ([node("LSTM", "x w r", "y", hidden_size=1, clip=-1.0)], [2, 1, 3], LSTM),
    "an LSTM that clips at 0": ([node("LSTM", "x w r", "y", hidden_size=1, clip=0.0)], [2, "N", 3], LSTM),
    "an LSTM that clips at NaN": ([node("LSTM", "x w r", "y", hidden_size=1, clip=float("nan"))], [2, 1, 3], LSTM),
    "an LRN of an even size": ([node("LRN", "x", "y", size=2)], ["N", 3, 4, 4], {}),
    "an LRN of size 0": ([node("LRN", "x", "y", size=0)], [1, 3, 4, 4], {}),
    "MaxRoiPool into no rows": (
        [node("MaxRoiPool", "x r", "y", pooled_shape=[0, 1])], [1, 3, 4, 4], {"r": F([[0] * 5])}
    ),
    "CumSum that is reversed twice": ([node("CumSum", "x a", "y", reverse=2)], [4, 3], {"a": N(0)}),
    "CumSum that excludes by -1": ([node("CumSum", "x a", "y", exclusive=-1)], [4, 3], {"a": N(0)}),
    "Resize of antialias 2": ([node("Resize", "x - c", "y", antialias=2)], [4, 3], {"c": F([1, 2])}),
    "Resize of the nearest, antialiased": ([node("Resize", "x - c", "y", antialias=1)], [4, 3], {"c": F([1, 2])}),
    "Resize to one size of two": ([node("Resize", "x - - s", "y")], ["N", 3], {"s": N([4])}),
    "Resize of a region of one axis": (
        [node("Resize", "x r c", "y", coordinate_transformation_mode="tf_crop_and_resize")],
        ["N", 3],
        {"r": F([0, 1]), "c": F([1, 2])},
    ),
    "Resize by a matrix of scales": ([node("Resize", "x - c", "y")], ["N", 3], {"c": F([[1, 2]])}),
    "GatherND of more axes than there are": ([node("GatherND", "x i", "y")], [4, 3], {"i": N([[0, 0, 0]])}),
    "ScatterND of more axes than there are": (
        [node("ScatterND", "x i u", "y")], ["N", 3], {"i": N([[0, 0, 0]]), "u": F([1])}
    ),
    "ScatterND of other updates": ([node("ScatterND", "x i u", "y")], [4, 3], {"i": N([[0], [1]]), "u": F([1, 2])}),
    "ScatterElements along no axis": (
        [node("ScatterElements", "x i u", "y", axis=2)], [4, 3], {"i": N([[0]]), "u": F([[1]])}
    ),
    "ScatterElements of other updates": (
        [node("ScatterElements", "x i u", "y")], [4, 3], {"i": N([[0, 1]]), "u": F([[1]])}
    ),
    "GatherElements of a vector of indices": ([node("GatherElements", "x i", "y")], [4, 3], {"i": N([0])}),
    "MaxPool that stores in no order": (
        [node("MaxPool", "x", "y", kernel_shape=[2], storage_order=4)],
        [1, 1, "N"],
        {},
    ),
    "MaxPool with a window of padding": ([node("MaxPool", "x", "y", kernel_shape=[2], pads=[0, 2])], [1, 1, "N"], {}),
    "AveragePool with a window of padding": (
        [node("AveragePool", "x", "y", kernel_shape=[2], pads=[2, 0])], [1, 1, 4], {}
    ),
    "CenterCropPad to no sizes": ([node("CenterCropPad", "x s", "y")], [4, 3], {"s": np.zeros(0, N)}),
    "CenterCropPad to one size of two": ([node("CenterCropPad", "x s", "y")], [4, 3], {"s": N([2])}),
    "CenterCropPad to no sizes that the run tells": (
        [node("Shape", "x", "s", start=2), node("CenterCropPad", "x s", "y")], [4, 3], {}
    ),
    "a loss with a matrix of weights": (
        [node("SoftmaxCrossEntropyLoss", "x t w", "y")], [2, 3], {"t": N([0, 1]), "w": np.ones((3, 1), F)}
    ),
    "a loss of other labels": ([node("SoftmaxCrossEntropyLoss", "x t", "y")], [2, 3], {"t": N([0, 1, 2])}),
    "Pad to fewer than no elements": ([node("Pad", "x p", "y")], ["N", 4], {"p": N([0, -(2**60), 0, 0])}),
    "n-grams beyond their pool": ([*n_grams([0, 5])], [3], {}),
    "Expand to other sizes, of which one is computed": (
        [node("Where", "b o o", "n"), node("Concat", "n s", "t", axis=0), node("Expand", "x t", "y")],
        [4, 3],
        {"b": np.array([True]), "o": N([4]), "s": N([5])},
    ),
    "Reshape to less than -1, of which one is computed": (
        [node("Where", "b o o", "n"), node("Concat", "n s", "t", axis=0), node("Reshape", "x t", "y")],
        [4, 3],
        {"b": np.array([True]), "o": N([4]), "s": N([-3])},
    ),
    "whole numbers divided by 0": (
        [node("Cast", "x", "i", to=7), node("Div", "i z", "j"), node("Cast", "j", "y", to=1)], [3], {"z": N([1, 0, 2])}
    ),
    "the rest of whole numbers divided by 0": (
        [node("Cast", "x", "i", to=7), node("Mod", "i z", "j"), node("Cast", "j", "y", to=1)], [3], {"z": N(0)}
    ),
    **{
        f"a long table of divisors with a 0, {kind}": (
            [node("Cast", "x", "i", to=7), node(kind, "i z", "j"), node("Cast", "j", "y", to=1)],
            [993],
            {"z": np.arange(993)[::-1]},
        )
        for kind in ("Div", "Mod")
    },
    "ConstantOfShape of two numbers": (
        [node("ConstantOfShape", "n", "y", value=numpy_helper.from_array(F([1, 2])))], [3], {"n": N([3])}
    ),
    "fewer than no n-grams": ([*n_grams([-1])], [3], {}),
}  # fmt: skip


def model(row: Row) -> onnx.ModelProto:
    nodes, shape, constants = row
    given, made = helper.make_tensor_value_info("x", 1, shape), onnx.ValueInfoProto(name="y")
    made.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    for each in nodes:
        each.input[:] = ["" if name == "-" else name for name in each.input]
    return helper.make_model(
        helper.make_graph(nodes, "g", [given], [made], stored),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )


def test_more_elements_than_64_bits_count_are_refused(tmp_path: Path) -> None:
    """onnxruntime loads the Pad alone, and not a Reshape of what it gives, which a gradient may have."""
    far = model(([node("Pad", "x p", "y")], ["N", 4, 4], {"p": N([0, 2**61, 0, 0, 0, 0])}))
    with pytest.raises(ShapeError, match=r"more than 2\*\*63 - 1 elements"):
        ps.load(written(tmp_path, far))


def test_an_eye_like_a_vector_of_bfloat16_is_refused(tmp_path: Path) -> None:
    """onnx's inference is not asked about bfloat16."""
    nodes = [node("Cast", "x", "b", to=16), node("EyeLike", "b", "e"), node("Cast", "e", "f", to=1)]
    with pytest.raises(ShapeError, match="EyeLike needs a matrix"):
        ps.load(written(tmp_path, model(([*nodes, node("Mul", "x f", "y")], [3], {}))))


LATE = (
    "Gemm",
    "Split into a negative",
    "Pad to fewer",
    "Resize of a reg",
    "Resize by a mat",
    "Scatter",
    "GatherElements",
)


@pytest.mark.parametrize("name", ROWS)
def test_what_onnxruntime_refuses_is_refused_when_it_is_read(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, model(ROWS[name]))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not name.startswith(LATE):  # which onnxruntime refuses only in the run
        with pytest.raises(Exception, match=r"."):
            onnxruntime.InferenceSession(path, options)
    with pytest.raises(PrimsplitError) as caught:
        ps.load(path)
    assert caught.value.place is not None
    assert caught.value.place.filename == path
    assert len(str(caught.value).splitlines()) < 10


def test_a_cast_that_rounds_in_no_way_is_refused(tmp_path: Path) -> None:
    """Opset 24 has the attribute."""
    proto = model(([node("Cast", "x", "y", to=1, round_mode="away")], [3], {}))
    proto.opset_import[0].version = 24
    with pytest.raises(ParseError, match="Cast has no round_mode 'away'"):
        ps.load(written(tmp_path, proto))


ROPE = {"c": np.ones((1, 2), F), "s": np.ones((1, 2), F)}
VAGUE: dict[str, Row] = {
    "Cast": ([node("Cast", "x", "y", to=1, saturate=2)], [1, 1, 1, 4], {}),
    "CastLike": ([node("CastLike", "x x", "y", saturate=-1)], [1, 1, 1, 4], {}),
    "Attention": ([node("Attention", "x x x", "y", is_causal=2)], [1, 1, 3, 4], {}),
    "RotaryEmbedding": ([node("RotaryEmbedding", "x c s", "y", interleaved=2)], [1, 1, 1, 4], ROPE),
    "ConcatFromSequence": (
        [node("SequenceConstruct", "x x", "s"), node("ConcatFromSequence", "s", "y", axis=0, new_axis=2)],
        [1, 1, 1, 4],
        {},
    ),
    "GroupNormalization": (
        [node("GroupNormalization", "x w w", "y", num_groups=1, stash_type=0)],
        [1, 1, 4],
        {"w": np.ones(1, F)},
    ),
}
"""onnxruntime does what it likes with another number: it is read as 0 or as 1, or no result is written."""


@pytest.mark.parametrize("name", VAGUE)
def test_a_flag_is_0_or_1(name: str, tmp_path: Path) -> None:
    proto = model(VAGUE[name])
    proto.opset_import[0].version = 23
    with pytest.raises(ParseError, match=f"{name} has no "):
        ps.load(written(tmp_path, proto))


def test_empty_arrays_are_sliced_backwards(tmp_path: Path) -> None:
    """Builds of onnx with assertions end the process where they infer this."""
    back = {"b": N([-1]), "e": N([-(2**62)]), "a": N([0]), "s": N([-1])}
    program = ps.load(written(tmp_path, model(([node("Slice", "x b e a s", "y")], [0, 3], back))))
    assert np.shape(program(np.zeros((0, 3), F))) == (0, 3)


TAKEN: dict[str, Row] = {
    "an RNN that clips at -1": (
        [node("RNN", "x w r", "y", hidden_size=1, clip=-1.0)],
        [2, 1, 3],
        {"w": np.ones((1, 1, 3), F), "r": np.ones((1, 1, 1), F)},
    ),
    "a batch that comes first": ([node("LSTM", "x w r", "y", hidden_size=1, layout=1)], [1, 2, 3], LSTM),
    "n-grams without a skip": (n_grams([0]), [3], {}),
    "a normalized text": (
        [
            node("StringNormalizer", "t", "u", locale="xx_YY"),
            node("Shape", "u", "n"),
            node("ConstantOfShape", "n", "y"),
        ],
        [3],
        {"t": np.array(["a"])},
    ),
    "CenterCropPad to -2 rows, which are none": ([node("CenterCropPad", "x s", "y")], [4, 3], {"s": N([-2, 3])}),
}


DRAWS: dict[str, dict[str, float]] = {
    "RandomNormal": {"scale": 0.0},
    "RandomNormalLike": {"scale": float("nan")},
    "RandomUniform": {"low": 2.0, "high": 1.0},
    "RandomUniformLike": {"low": float("nan")},
}


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ("y b c d", {"num_outputs": 2}),
        ("y b", {"num_outputs": 4}),
        ("y b", {"num_outputs": 0}),
        ("y b", {"num_outputs": -1}),
        ("y b c", {"sizes": [3, 4]}),
        ("y", {"sizes": [3, 4]}),
        ("y b", {"sizes": []}),
    ],
)
def test_parts_are_as_many_as_outputs(outputs: str, told: dict[str, Any], tmp_path: Path) -> None:
    """Builds of onnx and onnxruntime with assertions end the process where they infer some of these."""
    sizes = {"s": np.array(told["sizes"], N)} if "sizes" in told else {}
    nodes = [node("Split", "x s" if sizes else "x", outputs, **({} if sizes else told))]
    with pytest.raises(ShapeError, match="Split"):
        ps.load(written(tmp_path, model((nodes, [7], sizes))))


@pytest.mark.parametrize("kind", DRAWS)
def test_draws_that_would_end_the_process_are_refused(kind: str, tmp_path: Path) -> None:
    """onnxruntime is no judge here: its library asserts the bounds, and ends the process in a run."""
    of = ("x", {}) if kind.endswith("Like") else ("", {"shape": [3]})
    nodes = [node(kind, of[0], "a", **of[1], **DRAWS[kind]), node("Mul", "x a", "y")]
    with pytest.raises(PrimsplitError, match="cannot draw"):
        ps.load(written(tmp_path, model((nodes, [3], {}))))


@pytest.mark.parametrize("name", TAKEN)
def test_what_may_run_is_read(name: str, tmp_path: Path) -> None:
    assert ps.load(written(tmp_path, model(TAKEN[name]))).block.results


def test_usual_operators_are_not_shown_to_onnxruntime(tmp_path: Path) -> None:
    """To import it takes longer than to read a small model."""
    path = written(tmp_path, model(([node("LeakyRelu", "x", "a", alpha=0.1), node("Softmax", "a", "y")], ["N", 3], {})))
    code = f"import sys, primsplit; primsplit.load({path!r}); print('onnxruntime' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_operator_that_a_definition_recorded_is_checked_alone_and_in_a_body() -> None:
    y = Var(Type("float32", [3]))
    drawn = Op("RandomNormal", (), (y,), {"shape": [3], "scale": 0.0})
    call = Op("call::acme", (), (Var(y.type),), {"body": Block("acme", (), (drawn,), (y,))})
    for step in (drawn, call):
        with pytest.raises(ShapeError, match="cannot draw with the scale"):
            check_definition(step)
    right = Op("RandomNormal", (), (y,), {"shape": [3], "scale": 1.0})
    check_definition(right)
