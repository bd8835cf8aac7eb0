"""Models of operators that have no kernel for a dtype or an attribute."""

import numpy as np

from tools.fault_models.model import FaultModel, floats

F, D, H = np.float32, np.float64, np.float16
X8 = np.array([1, 2, 3], np.int8)


def _unary(body: str, dtype: str, result: str | None = None) -> str:
    return f"({dtype}[N] x) => ({result or dtype}[M] y) {{{body}}}"


def _recurrent(kind: str, gates: int) -> FaultModel:
    return FaultModel(
        f"""(double[T,1,1] x, double[1,{gates},1] w, double[1,{gates},1] r) => (double[T,1,1,1] y) {{
            y = {kind}<hidden_size=1>(x, w, r)
        }}""",
        {"x": np.ones((2, 1, 1)), "w": np.ones((1, gates, 1)), "r": np.ones((1, gates, 1))}, (None,),
    )  # fmt: skip


MODELS: dict[str, FaultModel] = {
    "no_float64_kernel": FaultModel(_unary("y = Tan(x)", "double"), {"x": floats(3, dtype=D)}, (None,)),
    "no_float64_cosine": FaultModel(
        _unary("y = Cos(x)", "double"), {"x": floats(3, dtype=D)}, (np.cos(floats(3, dtype=D)),), rtol=1e-12,
    ),
    "no_arithmetic_of_narrow_integers": FaultModel(
        "(int8[N] a, int8[N] b) => (int8[N] y) {y = Add(a, b)}", {"a": X8, "b": X8}, (X8 + X8,),
    ),
    "no_division_of_narrow_integers": FaultModel(
        "(uint64[N] a, uint64[N] b) => (uint64[N] y) {y = Div(a, b)}",
        {"a": X8.astype(np.uint64), "b": X8.astype(np.uint64)}, (np.ones(3, np.uint64),),
    ),
    "no_depth_to_space_of_uint8": FaultModel(
        "(uint8[1,4,1,1] x) => (uint8[1,1,2,2] y) {y = DepthToSpace<blocksize=2>(x)}",
        {"x": floats(1, 4, 1, 1, dtype=np.uint8)}, (floats(1, 1, 2, 2, dtype=np.uint8),),
    ),
    "no_depth_to_space_of_int8": FaultModel(
        "(int8[1,4,1,1] x) => (int8[1,1,2,2] y) {y = DepthToSpace<blocksize=2>(x)}",
        {"x": floats(1, 4, 1, 1, dtype=np.int8)}, (floats(1, 1, 2, 2, dtype=np.int8),),
    ),
    "no_layer_normalization_of_bfloat16": FaultModel(
        """(float[N,2] x) => (float[N,2] y) <float[2] ones = {1.0, 1.0}> {
            h = Cast<to=16>(x) s = Cast<to=16>(ones) n = LayerNormalization(h, s) y = Cast<to=1>(n)
        }""",
        {"x": floats(1, 2)}, (np.array([[-1, 1]], F),), rtol=1e-2,
    ),
    "no_pad_of_bfloat16": FaultModel(
        """(float[N] x) => (float[M] y) <int64[2] p = {1, 0}> {h = Cast<to=16>(x) n = Pad(h, p) y = Cast<to=1>(n)}""",
        {"x": floats(2)}, (np.array([0, 1, 2], F),),
    ),
    "no_maximum_of_bytes": FaultModel(
        "(int8[N] a, int8[N] b) => (int8[N] y) {y = Max(a, b)}",
        {"a": X8, "b": X8[::-1].copy()}, (np.array([3, 2, 3], np.int8),),
    ),
    "no_negation_of_int16": FaultModel(
        _unary("y = Neg(x)", "int16"), {"x": X8.astype(np.int16)}, (-X8.astype(np.int16),),
    ),
    "no_shift_of_uint16": FaultModel(
        "(uint16[N] a, uint16[N] b) => (uint16[N] y) {y = BitShift<direction=\"LEFT\">(a, b)}",
        {"a": X8.astype(np.uint16), "b": X8.astype(np.uint16)}, (np.array([2, 8, 24], np.uint16),),
    ),
    "no_top_k_of_narrow_integers": FaultModel(
        "(int8[N] x) => (int8[M] y, int64[M] i) <int64[1] k = {2}> {y, i = TopK(x, k)}",
        {"x": X8}, (np.array([3, 2], np.int8), np.array([2, 1])),
    ),
    "no_triangle_of_int32": FaultModel(
        "(int32[N,M] x) => (int32[N,M] y) {y = Trilu(x)}", {"x": floats(2, 2, dtype=np.int32)},
        (np.array([[1, 2], [0, 4]], np.int32),),
    ),
    "no_choice_of_int8": FaultModel(
        "(bool[N] c, int8[N] a, int8[N] b) => (int8[N] y) {y = Where(c, a, b)}",
        {"c": np.array([True, False, True]), "a": X8, "b": -X8}, (np.array([1, -2, 3], np.int8),),
    ),
    "no_cast_of_int4": FaultModel(
        _unary("q = Cast<to=22>(x) y = Cast<to=1>(q)", "float"), {"x": floats(4)}, (floats(4),),
    ),
    "no_deformed_convolution": FaultModel(
        "(float[1,1,2,2] x, float[1,1,1,1] w, float[1,2,2,2] o) => (float[1,1,2,2] y) {y = DeformConv(x, w, o)}",
        {"x": floats(1, 1, 2, 2), "w": np.ones((1, 1, 1, 1), F), "o": np.zeros((1, 2, 2, 2), F)},
        (floats(1, 1, 2, 2),),
    ),
    "no_convolution_of_int8": FaultModel(
        "(int8[1,1,N] x, int8[1,1,1] w) => (int32[1,1,N] y) {y = ConvInteger(x, w)}",
        {"x": X8.reshape(1, 1, 3), "w": np.full((1, 1, 1), 2, np.int8)}, (np.array([[[2, 4, 6]]], np.int32),),
    ),
    "no_product_of_int8_and_uint8": FaultModel(
        "(int8[N,M] x, uint8[M,K] w) => (int32[N,K] y) {y = MatMulInteger(x, w)}",
        {"x": X8.reshape(1, 3), "w": np.full((3, 1), 2, np.uint8)}, (np.array([[12]], np.int32),),
    ),
    "no_sequence_of_bools": FaultModel(
        """(bool[N] x) => (bool[M] y) <int64 n = {2}, int64 first = {0}> {
            s = SplitToSequence(x, n) y = SequenceAt(s, first)
        }""",
        {"x": np.array([True, False, True])}, (np.array([True, False]),),
    ),
    "float64_gru_has_no_kernel": _recurrent("GRU", 3),
    "float64_lstm_has_no_kernel": _recurrent("LSTM", 4),
    "batch_first_recurrence": FaultModel(
        """(float[1,T,1] x, float[1,1,1] w, float[1,1,1] r) => (float[1,T,1,1] y) {
            y = RNN<hidden_size=1, layout=1>(x, w, r)
        }""",
        {"x": np.zeros((1, 2, 1), F), "w": np.ones((1, 1, 1), F), "r": np.ones((1, 1, 1), F)},
        (np.zeros((1, 2, 1, 1), F),),
    ),
    "scatter_reduction_of_16_bits": FaultModel(
        '(float16[N] x, int64[M] i, float16[M] u) => (float16[N] y) {y = ScatterElements<reduction="add">(x, i, u)}',
        {"x": np.zeros(2, H), "i": np.array([1, 1]), "u": np.ones(2, H)}, (np.array([0, 2], H),),
    ),
}  # fmt: skip
