"""Models whose numbers are wrong."""

import numpy as np

from tools.fault_models.model import FaultModel, floats

F, D, H = np.float32, np.float64, np.float16
rng = np.random.default_rng(0)
P, Q = np.tile([5, 2**40, -(2**33) + 1], 16), np.tile([2**33, 1, 7], 16)
SIGNAL = rng.standard_normal((1, 8, 2)).astype(F)
FRAME = SIGNAL[0, :, 0] + 1j * SIGNAL[0, :, 1]
HALF = np.fft.rfft(rng.standard_normal(8))
REAL = rng.standard_normal((1, 8, 1)).astype(H)
THETA = np.array([[[1.0, 0, 0], [0, 1.0, 0]]])
GROUPS = rng.standard_normal((1, 2, 3))
FAR = 1e4 + np.arange(6.0, dtype=F).reshape(1, 2, 3)


def _pairs(numbers: np.ndarray, dtype: type = F) -> np.ndarray:
    return np.stack([numbers.real, numbers.imag], -1).astype(dtype)


def _binary(kind: str, dtype: str = "int64") -> str:
    return f"({dtype}[N] a, {dtype}[N] b) => ({dtype}[N] y) {{y = {kind}(a, b)}}"


def _unary(body: str, dtype: str = "double") -> str:
    return f"({dtype}[N] x) => ({dtype}[M] y) {{{body}}}"


def _is_drawn(outputs: list[np.ndarray]) -> bool:
    return bool(0.85 < np.mean(outputs[0]) < 0.95)


MODELS: dict[str, FaultModel] = {
    "int64_compared_in_32_bits": FaultModel(_binary("Max"), {"a": P, "b": Q}, (np.maximum(P, Q),)),
    "integer_power_in_double": FaultModel(
        _binary("Pow"), {"a": np.array([3]), "b": np.array([39])}, (np.array([3**39]),),
    ),
    "int32_sum_in_double": FaultModel(
        "(int32[N] x) => (int32 y) {y = ReduceSum<keepdims=0>(x)}",
        {"x": np.full(2, 2**30 + 1, np.int32)}, (np.array(-(2**31) + 2, np.int32),),
    ),
    "int64_sum_in_double": FaultModel(
        "(int64[N] x) => (int64 y) {y = ReduceSum<keepdims=0>(x)}",
        {"x": np.array([2**53, 1])}, (np.array(2**53 + 1),),
    ),
    "int64_product_in_double": FaultModel(
        "(int64[N] x) => (int64 y) {y = ReduceProd<keepdims=0>(x)}",
        {"x": np.array([3**20, 3**19])}, (np.array(3**39),),
    ),
    "bernoulli_of_one_minus_p": FaultModel(_unary("y = Bernoulli(x)"), {"x": np.full(4000, 0.9)}, _is_drawn),
    "float64_shrink_in_float32": FaultModel(
        _unary("y = Shrink<lambd=0.1, bias=0.1>(x)"), {"x": np.array([1 / 3])},
        (np.array([1 / 3 - float(F(0.1))]),), rtol=1e-12,
    ),
    "float64_affine_grid_in_float32": FaultModel(
        "(double[1,2,3] t) => (double[1,A,B,2] y) <int64[4] s = {1, 1, 1, 3}> {y = AffineGrid(t, s)}",
        {"t": THETA},
        (np.array([[[[-2 / 3, 0], [0, 0], [2 / 3, 0]]]]),),
        rtol=1e-12,
        atol=1e-12,
    ),
    "float64_group_normalization_in_float32": FaultModel(
        "(double[1,2,L] x, double[2] s, double[2] b) => (double[1,2,L] y) "
        "{y = GroupNormalization<num_groups=1, epsilon=0.0>(x, s, b)}",
        {"x": GROUPS, "s": np.ones(2), "b": np.zeros(2)}, ((GROUPS - GROUPS.mean()) / GROUPS.std(),), rtol=1e-12,
    ),
    "group_normalization_by_the_mean_of_squares": FaultModel(
        "(float[1,2,L] x, float[2] s, float[2] b) => (float[1,2,L] y) "
        "{y = GroupNormalization<num_groups=1, epsilon=0.0>(x, s, b)}",
        {"x": FAR, "s": np.ones(2, F), "b": np.zeros(2, F)}, ((FAR - FAR.mean()) / FAR.std(),), rtol=1e-3,
    ),
    "float64_sigmoid_in_the_left_tail": FaultModel(
        _unary("y = Sigmoid(x)"), {"x": np.full(8, -30.0)}, (np.full(8, 1 / (1 + np.exp(30.0))),), rtol=1e-12,
    ),
    "batch_normalization_overwrites_statistics": FaultModel(
        """(float[N,1] x, float[1] w, float[1] b, float[1] u, float[1] v) => (float[N,1] y, float[1] m, float[1] a) {
            a = Neg(u) y, m, n = BatchNormalization<training_mode=1, momentum=0.5>(x, w, b, a, v)
        }""",
        {"x": floats(3, 1), "w": np.ones(1, F), "b": np.zeros(1, F), "u": floats(1), "v": floats(1)},
        (None, np.array([0.5], F), np.array([-1], F)),
    ),
    "stft_of_complex_signal": FaultModel(
        """(float[1,N,2] x) => (float[1,A,B,2] y) <int64 step = {4}, int64 size = {4}> {
            y = STFT<onesided=0>(x, step, , size)
        }""",
        {"x": SIGNAL}, (_pairs(np.stack([np.fft.fft(FRAME[:4]), np.fft.fft(FRAME[4:])])[None]),), atol=1e-3,
    ),
    "dft_without_batch": FaultModel(
        "(float[N,1] x) => (float[M,2] y) <int64 axis = {0}> {y = DFT(x, , axis)}",
        {"x": SIGNAL[0, :, :1]}, (_pairs(np.fft.fft(SIGNAL[0, :, 0])),), atol=1e-3,
    ),
    "inverse_dft_of_half_a_spectrum": FaultModel(
        "(float[1,N,2] x) => (float[1,M,1] y) <int64 axis = {1}> {y = DFT<inverse=1, onesided=1>(x, , axis)}",
        {"x": _pairs(HALF)[None]}, (np.fft.irfft(HALF).astype(F).reshape(1, 8, 1),), atol=1e-3,
    ),
    "inverse_dft_to_another_length": FaultModel(
        """(float[1,N,2] x) => (float[1,M,1] y) <int64 axis = {1}, int64 size = {16}> {
            y = DFT<inverse=1, onesided=1>(x, size, axis)
        }""",
        {"x": _pairs(HALF)[None]}, (np.fft.irfft(HALF, 16).astype(F).reshape(1, 16, 1),), atol=1e-3,
    ),
    "float16_dft_of_computed_length": FaultModel(
        """(float16[1,N,1] x, int64 n) => (float16[1,M,2] y) <int64 axis = {1}, int64 one = {1}> {
            size = Add(n, one) y = DFT(x, size, axis)
        }""",
        {"x": REAL, "n": np.int64(3)}, (_pairs(np.fft.fft(REAL[0, :4, 0].astype(D)), H)[None],), atol=2e-2,
    ),
    "float16_rounded_for_some_readers": FaultModel(
        """(float16[N] x) => (float16 y, float16[N] z) {
            s = Sin(x) y = ReduceMax<keepdims=0>(s) q = Equal(s, y) z = Cast<to=10>(q)
        }""",
        {"x": np.array([0.1, 0.7, 0.3], H)}, lambda outputs: bool(np.sum(outputs[1]) == 1),
    ),
    "underflow_of_float64_exp": FaultModel(_unary("y = Exp(x)"), {"x": np.full(8, -np.inf)}, (np.zeros(8),)),
    "float64_log_of_subnormals": FaultModel(
        _unary("y = Log(x)"), {"x": np.full(8, 1e-310)}, (np.full(8, np.log(1e-310)),), rtol=1e-12,
    ),
    "float32_erf_of_nan": FaultModel(
        _unary("y = Erf(x)", "float"), {"x": np.full(8, np.nan, F)}, (np.full(8, np.nan, F),),
    ),
    "floor_of_minus_zero": FaultModel(
        _unary("y = Floor(x)", "float"), {"x": np.full(8, -0.0, F)}, (np.full(8, -0.0, F),),
    ),
    "where_of_minus_zero": FaultModel(
        "(bool[N] c, float[N] x, float[N] z) => (float[N] y) {y = Where(c, x, z)}",
        {"c": np.array([True, False]), "x": np.full(2, -0.0, F), "z": floats(2)}, (np.array([-0.0, 2], F),),
    ),
    "extremum_skips_nan": FaultModel(
        "(float[N] x) => (float y) {y = ReduceMax<keepdims=0>(x)}",
        {"x": np.array([1, np.nan, 2, 0, 1, 1, 1, 1, 1], F)}, (np.array(np.nan, F),),
    ),
    "float64_log_softmax_of_nan": FaultModel(
        "(double[N,3] x) => (double[N,3] y) {y = LogSoftmax<axis=1>(x)}",
        {"x": np.array([[0, 0, 0], [np.nan, 0, 1]])}, (np.array([[-np.log(3.0)] * 3, [np.nan] * 3]),), rtol=1e-12,
    ),
    "alpha_of_activations_not_given": FaultModel(
        """(float[T,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[T,1,1,1] y) {
            y = RNN<hidden_size=1, activations=["Affine"]>(x, w, r)
        }""",
        {"x": floats(1, 1, 1), "w": floats(1, 1, 1), "r": floats(1, 1, 1)}, (np.ones((1, 1, 1, 1), F),),
    ),
    "dft_of_lengths_that_are_no_power_of_two": FaultModel(
        "(float[1,N,1] x) => (float[1,M,2] y) <int64 axis = {1}> {y = DFT(x, , axis)}",
        {"x": np.ones((1, 1000, 1), F)},
        lambda outputs: bool(np.abs(outputs[0][0, 1:]).max() < 1e-2),
    ),
    "saturate_0_of_casts_to_float8": FaultModel(
        """(float[N] x) => (float[N] y) {q = Cast<to=17, saturate=0>(x) y = Cast<to=1>(q)}""",
        {"x": np.array([1.0, 465.0, 481.0, 1e6], F)}, (np.array([1.0, np.nan, np.nan, np.nan], F),),
    ),
    "float32_sums_one_after_the_other": FaultModel(
        "(float[N] x) => (float y) {y = ReduceSum<keepdims=0>(x)}",
        {"x": np.full(2**22, 0.1, F)}, (np.array(2**22 * float(F(0.1)), F),), rtol=1e-5,
    ),
    "float32_scatters_one_after_the_other": FaultModel(
        "(float[1] x, int64[N,1] i, float[N] u) => (float[1] y) {y = ScatterND<reduction=\"add\">(x, i, u)}",
        {"x": np.zeros(1, F), "i": np.zeros((10**6, 1), np.int64), "u": np.full(10**6, 0.1, F)},
        (np.full(1, 10**6 * float(F(0.1)), F),), rtol=1e-4,
    ),
}  # fmt: skip
