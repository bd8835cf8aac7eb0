"""Models of arrays without elements."""

import numpy as np

from tools.fault_models.model import FaultModel, floats

F = np.float32
GRU_INPUTS = "(float[T,N,1] x, float[1,3,1] w, float[1,3,1] r)"
LSTM = "(float[T,N,1] x, float[1,4,1] w, float[1,4,1] r) => (float[T,1,N,1] y) {y = LSTM<hidden_size=1>(x, w, r)}"
GRU = GRU_INPUTS + " => (float[T,1,N,1] y) {y = GRU<hidden_size=1>(x, w, r)}"
RNN = """(float[T,N,1] x, float[2,3,1] w, float[2,3,3] r, float[2,N,3] s) => (float[T,2,N,3] y, float[2,N,3] h) {
    y, h = RNN<hidden_size=3, direction="bidirectional">(x, w, r, , , s)
}"""
BODY = "(float[A] c, float[B] e) => (float[A] c2, float[B] e2) {c2 = Add(c, e) e2 = Identity(c2)}"
AXES = "axes = Constant<value_ints=[-1]>()"


def _layer(gates: int, steps: int, batch: int) -> dict[str, object]:
    return {"x": np.ones((steps, batch, 1), F), "w": np.ones((1, gates, 1), F), "r": np.ones((1, gates, 1), F)}


MODELS: dict[str, FaultModel] = {
    "reduction_of_nothing_along_negative_axis": FaultModel(
        f"(float[A,B] x) => (float[C] y) {{{AXES} y = ReduceSum<keepdims=0>(x, axes)}}",
        {"x": np.ones((0, 3), F)}, (np.ones(0, F),),
    ),
    "place_of_extremum_of_nothing_along_negative_axis": FaultModel(
        "(float[A,B,C] x) => (int64[D,E] y) {y = ArgMax<axis=-2, keepdims=0>(x)}",
        {"x": np.ones((0, 4, 3), F)}, (np.ones((0, 3), np.int64),),
    ),
    "circular_pad_more_than_once_around": FaultModel(
        '(float[N,K] x, int64[4] p) => (float[M,L] y) {y = Pad<mode="wrap">(x, p)}',
        {"x": floats(2, 3), "p": np.array([0, 5, 1, 4])}, (np.pad(floats(2, 3), [(0, 1), (5, 4)], mode="wrap"),),
    ),
    "circular_pad_of_nothing": FaultModel(
        '(float[N] x, int64[2] p) => (float[M] y) {y = Pad<mode="wrap">(x, p)}',
        {"x": floats(0), "p": np.array([0, 2])}, (np.zeros(2, F),),
    ),
    "pad_of_emptied_axis": FaultModel(
        "(float[N] x, int64[2] p) => (float[M] y) {y = Pad(x, p)}",
        {"x": floats(2), "p": np.array([-2, 3])}, (np.zeros(3, F),),
    ),
    "matrix_of_no_rows_times_vector": FaultModel(
        "(float[N,K] a, float[K] v) => (float[N] y) {y = MatMul(a, v)}",
        {"a": np.ones((0, 2), F), "v": floats(2)}, (np.zeros(0, F),),
    ),
    "gru_of_no_steps": FaultModel(GRU, _layer(3, 0, 2), (np.zeros((0, 1, 2, 1), F),)),
    "gru_of_no_sequences": FaultModel(GRU, _layer(3, 3, 0), (np.zeros((3, 1, 0, 1), F),)),
    "lstm_of_no_sequences": FaultModel(LSTM, _layer(4, 3, 0), (np.zeros((3, 1, 0, 1), F),)),
    "rnn_of_no_steps": FaultModel(
        RNN, {"x": np.ones((0, 2, 1), F), "w": np.ones((2, 3, 1), F), "r": np.ones((2, 3, 3), F), "s": floats(2, 2, 3)},
        (np.zeros((0, 2, 2, 3), F), None),
    ),
    "einsum_of_nothing": FaultModel(
        '(float[B,I,J] a, float[B,J,I] b) => (float[B] y) {y = Einsum<equation="bij,bji->b">(a, b)}',
        {"a": np.ones((0, 2, 3), F), "b": np.ones((0, 3, 2), F)}, (np.zeros(0, F),),
    ),
    "sum_of_nothing_along_no_axes": FaultModel(
        "(float[A,B] x, int64[K] axes) => (float[C,D] y) {y = ReduceSum<keepdims=1, noop_with_empty_axes=1>(x, axes)}",
        {"x": np.ones((0, 3), F), "axes": np.zeros(0, np.int64)}, (np.zeros((0, 3), F),),
    ),
    "sum_over_nothing_with_vector": FaultModel(
        "(float[N,K] a, float[K] v) => (float[N] y) {y = MatMul(a, v)}",
        {"a": np.ones((5, 0), F), "v": floats(0)}, (np.zeros(5, F),),
    ),
    "sum_over_nothing_in_transposed_stack": FaultModel(
        "(float[B,K,N] a, float[B,K,M] b) => (float[B,N,M] y) {t = Transpose<perm=[0,2,1]>(a) y = MatMul(t, b)}",
        {"a": np.ones((2, 0, 3), F), "b": np.ones((2, 0, 4), F)}, (np.zeros((2, 3, 4), F),),
    ),
    "sum_over_nothing_in_repeated_stack": FaultModel(
        "(float[1,N,K] a, float[B,K,M] b) => (float[B,N,M] y) {y = MatMul(a, b)}",
        {"a": np.ones((1, 3, 0), F), "b": np.ones((2, 0, 4), F)}, (np.zeros((2, 3, 4), F),),
    ),
    "stack_repeated_for_no_matrices": FaultModel(
        "(float[1,N,K] a, float[B,K,M] b) => (float[B,N,M] y) {y = MatMul(a, b)}",
        {"a": np.ones((1, 3, 2), F), "b": np.ones((0, 2, 4), F)}, (np.zeros((0, 3, 4), F),),
    ),
    "fused_transpose_of_first_axis_of_nothing": FaultModel(
        "(float[N,B,K] a, float[B,K,M] b) => (float[B,N,M] y) {t = Transpose<perm=[1,0,2]>(a) y = MatMul(t, b)}",
        {"a": np.ones((0, 2, 3), F), "b": np.ones((2, 3, 4), F)}, (np.zeros((2, 0, 4), F),),
    ),
    "top_k_of_no_rows": FaultModel(
        "(float[N,M] x, int64[1] k) => (float[N,K] y, int64[N,K] i) {y, i = TopK<axis=1>(x, k)}",
        {"x": np.ones((0, 3), F), "k": np.array([2])}, (np.zeros((0, 2), F), np.zeros((0, 2), np.int64)),
    ),
    "one_hot_of_no_rows": FaultModel(
        "(int64[N,M] x, int64 k, float[2] v) => (float[N,M,K] y) {y = OneHot(x, k, v)}",
        {"x": np.ones((0, 3), np.int64), "k": np.int64(2), "v": floats(2)}, (np.zeros((0, 3, 2), F),),
    ),
    "lp_normalization_along_nothing": FaultModel(
        "(float[N,M] x) => (float[N,M] y) {y = LpNormalization<axis=1, p=1>(x)}",
        {"x": np.ones((3, 0), F)}, (np.zeros((3, 0), F),),
    ),
    "scan_of_no_steps": FaultModel(
        f"""(float[A] s, float[T,B] x) => (float[A] l, float[T,B] y) {{
            l, y = Scan<num_scan_inputs=1, body = b {BODY}>(s, x)
        }}""",
        {"s": floats(2), "x": np.ones((0, 2), F)}, (floats(2), np.zeros((0, 2), F)),
    ),
    "loop_of_no_steps_stacks_rows_of_no_size": FaultModel(
        """(int64 n, float[A] x) => (float[T,A] y) {
            yes = Constant<value = bool {1}>()
            y = Loop(n, yes) <body = step (int64 i, bool c) => (bool again, float[A] row) {
                again = Identity(c) row = Sin(x)
            }>
        }""",
        {"n": np.int64(0), "x": floats(2)}, (np.zeros((0, 2), F),),
    ),
    "scan_along_later_axis_of_nothing": FaultModel(
        """(float[A,C] s, float[A,T,C] x) => (float[A,C] l, float[T,A,C] y) {
            l, y = Scan<num_scan_inputs=1, scan_input_axes=[1],
                body = b (float[A,C] c, float[A,C] e) => (float[A,C] c2, float[A,C] e2) {c2 = Add(c, e) e2 = Sin(c2)}
            >(s, x)
        }""",
        {"s": np.ones((2, 0), F), "x": np.ones((2, 3, 0), F)}, (np.zeros((2, 0), F), np.zeros((3, 2, 0), F)),
    ),
    "transposed_convolution_of_no_windows": FaultModel(
        "(float[B,1,N] x, float[1,1,3] w) => (float[B,1,M] y) "
        "{y = ConvTranspose<strides=[2], output_padding=[1]>(x, w)}",
        {"x": np.ones((1, 1, 0), F), "w": np.ones((1, 1, 3), F)}, (np.zeros((1, 1, 2), F),),
    ),
    "convolution_of_no_channels": FaultModel(
        "(float[B,C,N] x, float[2,C,3] w) => (float[B,2,M] y) {y = Conv<strides=[2]>(x, w)}",
        {"x": np.ones((4, 0, 9), F), "w": np.ones((2, 0, 3), F)}, (np.zeros((4, 2, 4), F),),
    ),
    "empty_constant_taken_for_neutral": FaultModel(
        "(double[N,M] x) => (double[N,K] y) <double[1,0] e = {}> {s = Sin(x) a = Mul(s, e) y = Neg(a)}",
        {"x": np.ones((3, 1))}, (np.zeros((3, 0)),),
    ),
    "reversal_of_length_0": FaultModel(
        "(float[T,B] x, int64[B] n) => (float[T,B] y) {y = ReverseSequence<batch_axis=1, time_axis=0>(x, n)}",
        {"x": floats(3, 2), "n": np.array([0, 2])}, (np.array([[1, 4], [3, 2], [5, 6]], F),),
    ),
    "group_normalization_of_no_images": FaultModel(
        "(float[N,2,L] x, float[2] s, float[2] b) => (float[N,2,L] y) {y = GroupNormalization<num_groups=1>(x, s, b)}",
        {"x": np.ones((0, 2, 3), F), "s": floats(2), "b": floats(2)}, (np.zeros((0, 2, 3), F),),
    ),
    "unique_of_rows_of_nothing": FaultModel(
        "(float[N,M] x) => (float[K,M] y) {y = Unique<axis=0>(x)}",
        {"x": np.ones((3, 0), F)}, (np.zeros((1, 0), F),),
    ),
    "expand_to_nothing_dropped": FaultModel(
        "(float[N] x) => (float[0] y) <int64[1] e = {0}> {s = Sin(x) a = Expand(s, e) y = Neg(a)}",
        {"x": np.ones(1, F)}, (np.zeros(0, F),),
    ),
    "concat_beside_nothing": FaultModel(
        "(float[N,M] a, float[K,L] b) => (float[A,B] y) {y = Concat<axis=0>(a, b)}",
        {"a": np.ones((2, 0), F), "b": floats(2, 3)}, (floats(2, 3),),
    ),
    "extremum_of_no_whole_numbers": FaultModel(
        "(int64[N] x) => (int64 y) {y = ReduceMax<keepdims=0>(x)}",
        {"x": np.ones(0, np.int64)}, (np.array(np.iinfo(np.int64).min),),
    ),
    "extremum_of_nothing": FaultModel(
        "(float[N] x) => (float y) {y = ReduceMax<keepdims=0>(x)}", {"x": np.ones(0, F)}, (np.array(-np.inf, F),),
    ),
}  # fmt: skip
