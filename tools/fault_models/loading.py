"""Models that a runtime rewrites wrongly, or cannot load."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from tools.fault_models.model import FaultModel, floats

F, D, H = np.float32, np.float64, np.float16
rng = np.random.default_rng(0)
A, B, V = rng.standard_normal((5, 6)), rng.standard_normal((6, 7)), rng.standard_normal(6)
S, T = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3, 5))
TURNED = S[..., 0].astype(H)[..., None] * np.ones(4, H)


def _norm(kind: str, number: str) -> str:
    return f"""(double[N,5] x, double[5] w) => (double[N,5] y) <double two = {{2.0}}, double e = {{{number}}}> {{
        axes = Constant<value_ints=[-1]>()
        m = ReduceMean<keepdims=1>(x, axes)
        c = Sub(x, m)
        p = Pow({"c" if kind == "layer" else "x"}, two)
        v = ReduceMean<keepdims=1>(p, axes)
        a = Add(v, e)
        r = Sqrt(a)
        q = Div({"c" if kind == "layer" else "x"}, r)
        y = Mul(q, w)
    }}"""


def _dropped(outputs: list[object]) -> bool:
    zeros = float(np.mean(np.asarray(outputs[0]) == 0))
    return 0.4 < zeros < 0.6


def _long_split() -> onnx.ModelProto:
    """A Split of an axis of 2**31 that nothing is computed for: an array of one axis that is 0 long."""
    half = 2**30
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [0, 2 * half])
    parts = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [0, half]) for n in ("a", "b")]
    node = helper.make_node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2)
    graph = helper.make_graph([node], "g", [x], parts)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


X = np.arange(-3, 3, dtype=F).reshape(2, 3)
N = rng.standard_normal((3, 5)) / 100
CENTRED = N - N.mean(-1, keepdims=True)
UPDATES = rng.integers(-3, 4, (40000, 64)).astype(F)
PLACES = rng.integers(0, 4, (40000, 1))
SUMS = np.zeros((4, 64), F)
np.add.at(SUMS, PLACES[:, 0], UPDATES)

MODELS: dict[str, FaultModel] = {
    "moved_dequantized_value_in_body": FaultModel(
        """(float[N,M] x, bool b) => (float[M,N] y) <float s = {0.5}, uint8 z = {100}> {
            q = QuantizeLinear(x, s, z)
            d = DequantizeLinear(q, s, z)
            t = Transpose(d)
            y = If(b) <then_branch = g () => (float[M,N] u) {u = Neg(t)},
                       else_branch = h () => (float[M,N] v) {v = Abs(t)}>
        }""",
        {"x": X, "b": np.bool_(1)}, (-X.T + 0.0,),
    ),
    "transpose_fused_past_cast": FaultModel(
        """(float16[A,B,C] x, float16[A,D] w) => (float16[B,C,D] y) <float number = {1.0}> {
            one = Cast<to=10>(number) t = Transpose<perm=[1,2,0]>(x) m = MatMul(t, w) a = Add(m, one) y = Tanh(a)
        }""",
        {"x": np.ones((2, 3, 4), H) / 8, "w": np.ones((2, 5), H)}, (np.full((3, 4, 5), np.tanh(1.25), H),), rtol=5e-3,
    ),
    "transpose_fused_into_product_with_vector": FaultModel(
        "(double[M,K] a, double[M] v) => (double[K] y) {b = Transpose(a) y = MatMul(b, v)}",
        {"a": A, "v": A[:, 0]}, (A.T @ A[:, 0],), rtol=1e-9,
    ),
    "factor_fused_into_float64_product": FaultModel(
        "(double[M,K] a, double[K,N] b) => (double[M,N] y) <double f = {0.1}> {p = MatMul(a, b) y = Mul(p, f)}",
        {"a": A, "b": B}, (A @ B * 0.1,), rtol=1e-11,
    ),
    "transpose_fused_into_float64_product": FaultModel(
        "(double[B,M,K] a, double[B,M,N] b) => (double[B,K,N] y) {t = Transpose<perm=[0,2,1]>(a) y = MatMul(t, b)}",
        {"a": S, "b": T}, (np.swapaxes(S, 1, 2) @ T,), rtol=1e-11,
    ),
    "reader_lost_by_a_fused_quotient": FaultModel(
        """(double[N] x, double[N] y) => (double[N] z) <double one = {1.0}, double three = {3.0}> {
            a = Div(one, x) q = Mul(a, three) b = Div(one, y) p = Mul(b, a) z = Add(p, q)
        }""",
        {"x": floats(3, dtype=D), "y": floats(3, dtype=D)}, (floats(3, dtype=D) ** -2 + 3 / floats(3, dtype=D),),
    ),
    "quotient_of_whole_numbers": FaultModel(
        "(int64[N] x, int64[N] y) => (int64[N] z) <int64 one = {1}> {a = Div(one, x) z = Mul(a, y)}",
        {"x": np.array([2, 1]), "y": np.array([5, 5])}, (np.array([0, 5]),),
    ),
    "faint_constant_taken_for_neutral": FaultModel(
        "(double[N] x) => (double[N] y) <double e = {1e-300}> {s = Sin(x) a = Add(s, e) y = Log(a)}",
        {"x": np.zeros(1)}, (np.array([np.log(1e-300)]),),
    ),
    "epsilon_of_float64_rms_norm": FaultModel(
        _norm("rms", "0.1"), {"x": N, "w": np.ones(5)}, (N / np.sqrt((N**2).mean(-1, keepdims=True) + 0.1),),
        rtol=1e-12,
    ),
    "epsilon_of_float64_layer_norm": FaultModel(
        _norm("layer", "0.1"), {"x": N, "w": np.ones(5)},
        (CENTRED / np.sqrt((CENTRED**2).mean(-1, keepdims=True) + 0.1),), rtol=1e-12,
    ),
    "dropout_that_trains_removed": FaultModel(
        """(float[N] x, float ratio) => (float[N] y) <bool on = {1}> {
            n = Neg(x) d = Dropout<seed = 7>(n, ratio, on) y = Sin(d)
        }""",
        {"x": np.ones(4000, F), "ratio": np.float32(0.5)}, _dropped,
    ),
    "lost_updates_of_threads": FaultModel(
        '(float[R,W] x, int64[N,1] i, float[N,W] u) => (float[R,W] y) {y = ScatterND<reduction="add">(x, i, u)}',
        {"x": np.zeros((4, 64), F), "i": PLACES, "u": UPDATES}, (SUMS,), runs=40,
        options={"intra_op_num_threads": 2},
    ),
    "split_of_long_axis": FaultModel(
        _long_split, {"x": np.zeros((0, 2**31), F)}, (np.zeros((0, 2**30), F), np.zeros((0, 2**30), F)),
    ),
    "transpose_moved_past_pad_of_some_axes": FaultModel(
        """(float[A,B,C] x) => (float[D,E,F] y) <int64[2] p = {1, 2}, int64[1] axes = {0}, float seven = {7.0}> {
            t = Transpose<perm=[2,0,1]>(x) a = Pad(t, p, seven, axes) y = Transpose<perm=[1,2,0]>(a)
        }""",
        {"x": floats(2, 3, 4)}, (np.pad(floats(2, 3, 4), [(0, 0), (0, 0), (1, 2)], constant_values=7),),
    ),
    "draws_at_one_place_are_one": FaultModel(
        """(int64 n) => (float[T,3] y, float[T,3] z) {
            yes = Constant<value = bool {1}>()
            y = Loop(n, yes) <body = f (int64 i, bool c) => (bool again, float[3] row) {
                again = Identity(c) row = RandomUniform<shape=[3]>()}>
            z = Loop(n, yes) <body = g (int64 i, bool c) => (bool again, float[3] row) {
                again = Identity(c) row = RandomUniform<shape=[3]>()}>
        }""",
        {"n": np.int64(2)}, lambda outputs: bool(np.all(np.asarray(outputs[0]) != np.asarray(outputs[1]))),
    ),
    "int8_pair_before_slice": FaultModel(
        """(float[N] x) => (float[M] y) <float s = {0.5}, int8 z = {0}, int64[1] b = {0}, int64[1] e = {2}> {
            q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) c = Slice(d, b, e) y = Neg(c)
        }""",
        {"x": floats(3)}, (-floats(2),),
    ),
    "copy_dropped_beside_a_fused_quotient": FaultModel(
        """(double[N] x, double[N] y) => (double[N] z) <double one = {1.0}> {
            s = Sin(y) c = Identity(s) a = Div(one, x) z = Mul(a, c)
        }""",
        {"x": floats(3, dtype=D), "y": floats(3, dtype=D)}, (np.sin(floats(3, dtype=D)) / floats(3, dtype=D),),
    ),
}  # fmt: skip
