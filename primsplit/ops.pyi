"""Made by `python tools/make_ops_stub.py`; do not edit."""

from collections.abc import Sequence
from typing import Any

from primsplit.array import Array
from primsplit.ir import Type, Value
from primsplit.schema import Schema

Operand = Any

def lift_inputs(found: Schema, inputs: Sequence[Any]) -> list[Value | None]: ...

class Operators:
    def __getattr__(self, kind: str) -> Any: ...
    def Abs(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Acos(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Acosh(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Add(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def AffineGrid(
        self,
        theta: Operand,
        size: Operand,
        /,
        *,
        align_corners: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def And(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def ArgMax(
        self,
        data: Operand,
        /,
        *,
        axis: Any = ...,
        keepdims: Any = ...,
        select_last_index: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ArgMin(
        self,
        data: Operand,
        /,
        *,
        axis: Any = ...,
        keepdims: Any = ...,
        select_last_index: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Asin(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Asinh(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Atan(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Atanh(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def AveragePool(
        self,
        X: Operand,
        /,
        *,
        auto_pad: Any = ...,
        ceil_mode: Any = ...,
        count_include_pad: Any = ...,
        dilations: Any = ...,
        kernel_shape: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def BatchNormalization(
        self,
        X: Operand,
        scale: Operand,
        B: Operand,
        input_mean: Operand,
        input_var: Operand,
        /,
        *,
        epsilon: Any = ...,
        momentum: Any = ...,
        training_mode: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def Bernoulli(
        self,
        input: Operand,
        /,
        *,
        dtype: Any = ...,
        seed: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def BitShift(
        self, X: Operand, Y: Operand, /, *, direction: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def BitwiseAnd(
        self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def BitwiseNot(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def BitwiseOr(
        self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def BitwiseXor(
        self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def BlackmanWindow(
        self,
        size: Operand,
        /,
        *,
        output_datatype: Any = ...,
        periodic: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Cast(
        self,
        input: Operand,
        /,
        *,
        saturate: Any = ...,
        to: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def CastLike(
        self,
        input: Operand,
        target_type: Operand,
        /,
        *,
        saturate: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Ceil(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Celu(
        self, X: Operand, /, *, alpha: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def CenterCropPad(
        self,
        input_data: Operand,
        shape: Operand,
        /,
        *,
        axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Clip(
        self,
        input: Operand,
        min: Operand = ...,
        max: Operand = ...,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Col2Im(
        self,
        input: Operand,
        image_shape: Operand,
        block_shape: Operand,
        /,
        *,
        dilations: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Compress(
        self,
        input: Operand,
        condition: Operand,
        /,
        *,
        axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Concat(
        self, *inputs: Operand, axis: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def ConcatFromSequence(
        self,
        input_sequence: Operand,
        /,
        *,
        axis: Any = ...,
        new_axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Constant(
        self,
        *,
        sparse_value: Any = ...,
        value: Any = ...,
        value_float: Any = ...,
        value_floats: Any = ...,
        value_int: Any = ...,
        value_ints: Any = ...,
        value_string: Any = ...,
        value_strings: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ConstantOfShape(
        self, input: Operand, /, *, value: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Conv(
        self,
        X: Operand,
        W: Operand,
        B: Operand = ...,
        /,
        *,
        auto_pad: Any = ...,
        dilations: Any = ...,
        group: Any = ...,
        kernel_shape: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ConvInteger(
        self,
        x: Operand,
        w: Operand,
        x_zero_point: Operand = ...,
        w_zero_point: Operand = ...,
        /,
        *,
        auto_pad: Any = ...,
        dilations: Any = ...,
        group: Any = ...,
        kernel_shape: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ConvTranspose(
        self,
        X: Operand,
        W: Operand,
        B: Operand = ...,
        /,
        *,
        auto_pad: Any = ...,
        dilations: Any = ...,
        group: Any = ...,
        kernel_shape: Any = ...,
        output_padding: Any = ...,
        output_shape: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Cos(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Cosh(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def CumSum(
        self,
        x: Operand,
        axis: Operand,
        /,
        *,
        exclusive: Any = ...,
        reverse: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def DFT(
        self,
        input: Operand,
        dft_length: Operand = ...,
        axis: Operand = ...,
        /,
        *,
        inverse: Any = ...,
        onesided: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def DeformConv(
        self,
        X: Operand,
        W: Operand,
        offset: Operand,
        B: Operand = ...,
        mask: Operand = ...,
        /,
        *,
        dilations: Any = ...,
        group: Any = ...,
        kernel_shape: Any = ...,
        offset_group: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def DepthToSpace(
        self,
        input: Operand,
        /,
        *,
        blocksize: Any = ...,
        mode: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def DequantizeLinear(
        self,
        x: Operand,
        x_scale: Operand,
        x_zero_point: Operand = ...,
        /,
        *,
        axis: Any = ...,
        block_size: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Det(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Div(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Dropout(
        self,
        data: Operand,
        ratio: Operand = ...,
        training_mode: Operand = ...,
        /,
        *,
        seed: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def DynamicQuantizeLinear(
        self, x: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Any: ...
    def Einsum(
        self, *Inputs: Operand, equation: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Elu(
        self, X: Operand, /, *, alpha: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Equal(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Erf(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Exp(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Expand(
        self, input: Operand, shape: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def EyeLike(
        self,
        input: Operand,
        /,
        *,
        dtype: Any = ...,
        k: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Flatten(
        self, input: Operand, /, *, axis: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Floor(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def GRU(
        self,
        X: Operand,
        W: Operand,
        R: Operand,
        B: Operand = ...,
        sequence_lens: Operand = ...,
        initial_h: Operand = ...,
        /,
        *,
        activation_alpha: Any = ...,
        activation_beta: Any = ...,
        activations: Any = ...,
        clip: Any = ...,
        direction: Any = ...,
        hidden_size: Any = ...,
        layout: Any = ...,
        linear_before_reset: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def Gather(
        self,
        data: Operand,
        indices: Operand,
        /,
        *,
        axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def GatherElements(
        self,
        data: Operand,
        indices: Operand,
        /,
        *,
        axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def GatherND(
        self,
        data: Operand,
        indices: Operand,
        /,
        *,
        batch_dims: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Gelu(
        self, X: Operand, /, *, approximate: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Gemm(
        self,
        A: Operand,
        B: Operand,
        C: Operand = ...,
        /,
        *,
        alpha: Any = ...,
        beta: Any = ...,
        transA: Any = ...,
        transB: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def GlobalAveragePool(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def GlobalLpPool(
        self, X: Operand, /, *, p: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def GlobalMaxPool(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Greater(
        self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def GreaterOrEqual(
        self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def GridSample(
        self,
        X: Operand,
        grid: Operand,
        /,
        *,
        align_corners: Any = ...,
        mode: Any = ...,
        padding_mode: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def GroupNormalization(
        self,
        X: Operand,
        scale: Operand,
        bias: Operand,
        /,
        *,
        epsilon: Any = ...,
        num_groups: Any = ...,
        stash_type: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def HammingWindow(
        self,
        size: Operand,
        /,
        *,
        output_datatype: Any = ...,
        periodic: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def HannWindow(
        self,
        size: Operand,
        /,
        *,
        output_datatype: Any = ...,
        periodic: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def HardSigmoid(
        self,
        X: Operand,
        /,
        *,
        alpha: Any = ...,
        beta: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def HardSwish(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Hardmax(
        self, input: Operand, /, *, axis: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Identity(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def If(
        self,
        cond: Operand,
        /,
        *,
        else_branch: Any = ...,
        then_branch: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> tuple[Array, ...]: ...
    def ImageDecoder(
        self,
        encoded_stream: Operand,
        /,
        *,
        pixel_format: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def InstanceNormalization(
        self,
        input: Operand,
        scale: Operand,
        B: Operand,
        /,
        *,
        epsilon: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def IsInf(
        self,
        X: Operand,
        /,
        *,
        detect_negative: Any = ...,
        detect_positive: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def IsNaN(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def LRN(
        self,
        X: Operand,
        /,
        *,
        alpha: Any = ...,
        beta: Any = ...,
        bias: Any = ...,
        size: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def LSTM(
        self,
        X: Operand,
        W: Operand,
        R: Operand,
        B: Operand = ...,
        sequence_lens: Operand = ...,
        initial_h: Operand = ...,
        initial_c: Operand = ...,
        P: Operand = ...,
        /,
        *,
        activation_alpha: Any = ...,
        activation_beta: Any = ...,
        activations: Any = ...,
        clip: Any = ...,
        direction: Any = ...,
        hidden_size: Any = ...,
        input_forget: Any = ...,
        layout: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def LayerNormalization(
        self,
        X: Operand,
        Scale: Operand,
        B: Operand = ...,
        /,
        *,
        axis: Any = ...,
        epsilon: Any = ...,
        stash_type: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def LeakyRelu(
        self, X: Operand, /, *, alpha: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Less(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def LessOrEqual(
        self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Log(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def LogSoftmax(
        self, input: Operand, /, *, axis: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Loop(
        self,
        M: Operand,
        cond: Operand,
        *v_initial: Operand,
        body: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> tuple[Array, ...]: ...
    def LpNormalization(
        self,
        input: Operand,
        /,
        *,
        axis: Any = ...,
        p: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def LpPool(
        self,
        X: Operand,
        /,
        *,
        auto_pad: Any = ...,
        ceil_mode: Any = ...,
        dilations: Any = ...,
        kernel_shape: Any = ...,
        p: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def MatMul(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def MatMulInteger(
        self,
        A: Operand,
        B: Operand,
        a_zero_point: Operand = ...,
        b_zero_point: Operand = ...,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Max(self, *data_0: Operand, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def MaxPool(
        self,
        X: Operand,
        /,
        *,
        auto_pad: Any = ...,
        ceil_mode: Any = ...,
        dilations: Any = ...,
        kernel_shape: Any = ...,
        pads: Any = ...,
        storage_order: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def MaxRoiPool(
        self,
        X: Operand,
        rois: Operand,
        /,
        *,
        pooled_shape: Any = ...,
        spatial_scale: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def MaxUnpool(
        self,
        X: Operand,
        I: Operand,
        output_shape: Operand = ...,
        /,
        *,
        kernel_shape: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Mean(self, *data_0: Operand, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def MeanVarianceNormalization(
        self, X: Operand, /, *, axes: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def MelWeightMatrix(
        self,
        num_mel_bins: Operand,
        dft_length: Operand,
        sample_rate: Operand,
        lower_edge_hertz: Operand,
        upper_edge_hertz: Operand,
        /,
        *,
        output_datatype: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Min(self, *data_0: Operand, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Mish(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Mod(
        self, A: Operand, B: Operand, /, *, fmod: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Mul(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Multinomial(
        self,
        input: Operand,
        /,
        *,
        dtype: Any = ...,
        sample_size: Any = ...,
        seed: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Neg(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def NegativeLogLikelihoodLoss(
        self,
        input: Operand,
        target: Operand,
        weight: Operand = ...,
        /,
        *,
        ignore_index: Any = ...,
        reduction: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def NonMaxSuppression(
        self,
        boxes: Operand,
        scores: Operand,
        max_output_boxes_per_class: Operand = ...,
        iou_threshold: Operand = ...,
        score_threshold: Operand = ...,
        /,
        *,
        center_point_box: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def NonZero(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Not(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def OneHot(
        self,
        indices: Operand,
        depth: Operand,
        values: Operand,
        /,
        *,
        axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Optional(
        self, input: Operand = ..., /, *, type: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def OptionalGetElement(
        self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def OptionalHasElement(
        self, input: Operand = ..., /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Or(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def PRelu(
        self, X: Operand, slope: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Pad(
        self,
        data: Operand,
        pads: Operand,
        constant_value: Operand = ...,
        axes: Operand = ...,
        /,
        *,
        mode: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Pow(self, X: Operand, Y: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def QLinearConv(
        self,
        x: Operand,
        x_scale: Operand,
        x_zero_point: Operand,
        w: Operand,
        w_scale: Operand,
        w_zero_point: Operand,
        y_scale: Operand,
        y_zero_point: Operand,
        B: Operand = ...,
        /,
        *,
        auto_pad: Any = ...,
        dilations: Any = ...,
        group: Any = ...,
        kernel_shape: Any = ...,
        pads: Any = ...,
        strides: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def QLinearMatMul(
        self,
        a: Operand,
        a_scale: Operand,
        a_zero_point: Operand,
        b: Operand,
        b_scale: Operand,
        b_zero_point: Operand,
        y_scale: Operand,
        y_zero_point: Operand,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def QuantizeLinear(
        self,
        x: Operand,
        y_scale: Operand,
        y_zero_point: Operand = ...,
        /,
        *,
        axis: Any = ...,
        block_size: Any = ...,
        output_dtype: Any = ...,
        saturate: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def RNN(
        self,
        X: Operand,
        W: Operand,
        R: Operand,
        B: Operand = ...,
        sequence_lens: Operand = ...,
        initial_h: Operand = ...,
        /,
        *,
        activation_alpha: Any = ...,
        activation_beta: Any = ...,
        activations: Any = ...,
        clip: Any = ...,
        direction: Any = ...,
        hidden_size: Any = ...,
        layout: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def RandomNormal(
        self,
        *,
        dtype: Any = ...,
        mean: Any = ...,
        scale: Any = ...,
        seed: Any = ...,
        shape: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def RandomNormalLike(
        self,
        input: Operand,
        /,
        *,
        dtype: Any = ...,
        mean: Any = ...,
        scale: Any = ...,
        seed: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def RandomUniform(
        self,
        *,
        dtype: Any = ...,
        high: Any = ...,
        low: Any = ...,
        seed: Any = ...,
        shape: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def RandomUniformLike(
        self,
        input: Operand,
        /,
        *,
        dtype: Any = ...,
        high: Any = ...,
        low: Any = ...,
        seed: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Range(
        self,
        start: Operand,
        limit: Operand,
        delta: Operand,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Reciprocal(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def ReduceL1(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceL2(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceLogSum(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceLogSumExp(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceMax(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceMean(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceMin(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceProd(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceSum(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReduceSumSquare(
        self,
        data: Operand,
        axes: Operand = ...,
        /,
        *,
        keepdims: Any = ...,
        noop_with_empty_axes: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def RegexFullMatch(
        self, X: Operand, /, *, pattern: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Relu(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Reshape(
        self,
        data: Operand,
        shape: Operand,
        /,
        *,
        allowzero: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Resize(
        self,
        X: Operand,
        roi: Operand = ...,
        scales: Operand = ...,
        sizes: Operand = ...,
        /,
        *,
        antialias: Any = ...,
        axes: Any = ...,
        coordinate_transformation_mode: Any = ...,
        cubic_coeff_a: Any = ...,
        exclude_outside: Any = ...,
        extrapolation_value: Any = ...,
        keep_aspect_ratio_policy: Any = ...,
        mode: Any = ...,
        nearest_mode: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ReverseSequence(
        self,
        input: Operand,
        sequence_lens: Operand,
        /,
        *,
        batch_axis: Any = ...,
        time_axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def RoiAlign(
        self,
        X: Operand,
        rois: Operand,
        batch_indices: Operand,
        /,
        *,
        coordinate_transformation_mode: Any = ...,
        mode: Any = ...,
        output_height: Any = ...,
        output_width: Any = ...,
        sampling_ratio: Any = ...,
        spatial_scale: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Round(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def STFT(
        self,
        signal: Operand,
        frame_step: Operand,
        window: Operand = ...,
        frame_length: Operand = ...,
        /,
        *,
        onesided: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Scan(
        self,
        *initial_state_and_scan_inputs: Operand,
        body: Any = ...,
        num_scan_inputs: Any = ...,
        scan_input_axes: Any = ...,
        scan_input_directions: Any = ...,
        scan_output_axes: Any = ...,
        scan_output_directions: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> tuple[Array, ...]: ...
    def Scatter(
        self,
        data: Operand,
        indices: Operand,
        updates: Operand,
        /,
        *,
        axis: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ScatterElements(
        self,
        data: Operand,
        indices: Operand,
        updates: Operand,
        /,
        *,
        axis: Any = ...,
        reduction: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ScatterND(
        self,
        data: Operand,
        indices: Operand,
        updates: Operand,
        /,
        *,
        reduction: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Selu(
        self,
        X: Operand,
        /,
        *,
        alpha: Any = ...,
        gamma: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def SequenceAt(
        self, input_sequence: Operand, position: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def SequenceConstruct(self, *inputs: Operand, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def SequenceEmpty(self, *, dtype: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def SequenceErase(
        self,
        input_sequence: Operand,
        position: Operand = ...,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def SequenceInsert(
        self,
        input_sequence: Operand,
        tensor: Operand,
        position: Operand = ...,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def SequenceLength(
        self, input_sequence: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def SequenceMap(
        self,
        input_sequence: Operand,
        *additional_inputs: Operand,
        body: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> tuple[Array, ...]: ...
    def Shape(
        self,
        data: Operand,
        /,
        *,
        end: Any = ...,
        start: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Shrink(
        self,
        input: Operand,
        /,
        *,
        bias: Any = ...,
        lambd: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Sigmoid(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Sign(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Sin(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Sinh(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Size(self, data: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Slice(
        self,
        data: Operand,
        starts: Operand,
        ends: Operand,
        axes: Operand = ...,
        steps: Operand = ...,
        /,
        *,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Softmax(
        self, input: Operand, /, *, axis: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def SoftmaxCrossEntropyLoss(
        self,
        scores: Operand,
        labels: Operand,
        weights: Operand = ...,
        /,
        *,
        ignore_index: Any = ...,
        reduction: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def Softplus(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Softsign(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def SpaceToDepth(
        self, input: Operand, /, *, blocksize: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Split(
        self,
        input: Operand,
        split: Operand = ...,
        /,
        *,
        axis: Any = ...,
        num_outputs: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> tuple[Array, ...]: ...
    def SplitToSequence(
        self,
        input: Operand,
        split: Operand = ...,
        /,
        *,
        axis: Any = ...,
        keepdims: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Sqrt(self, X: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Squeeze(
        self, data: Operand, axes: Operand = ..., /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def StringConcat(
        self, X: Operand, Y: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def StringNormalizer(
        self,
        X: Operand,
        /,
        *,
        case_change_action: Any = ...,
        is_case_sensitive: Any = ...,
        locale: Any = ...,
        stopwords: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def StringSplit(
        self,
        X: Operand,
        /,
        *,
        delimiter: Any = ...,
        maxsplit: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def Sub(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Sum(self, *data_0: Operand, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Tan(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def Tanh(self, input: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...
    def TfIdfVectorizer(
        self,
        X: Operand,
        /,
        *,
        max_gram_length: Any = ...,
        max_skip_count: Any = ...,
        min_gram_length: Any = ...,
        mode: Any = ...,
        ngram_counts: Any = ...,
        ngram_indexes: Any = ...,
        pool_int64s: Any = ...,
        pool_strings: Any = ...,
        weights: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def ThresholdedRelu(
        self, X: Operand, /, *, alpha: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Tile(
        self, input: Operand, repeats: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def TopK(
        self,
        X: Operand,
        K: Operand,
        /,
        *,
        axis: Any = ...,
        largest: Any = ...,
        sorted: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> tuple[Array, ...]: ...
    def Transpose(
        self, data: Operand, /, *, perm: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Trilu(
        self,
        input: Operand,
        k: Operand = ...,
        /,
        *,
        upper: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Array: ...
    def Unique(
        self,
        X: Operand,
        /,
        *,
        axis: Any = ...,
        sorted: Any = ...,
        outputs: int = ...,
        types: Sequence[Type] | None = ...,
    ) -> Any: ...
    def Unsqueeze(
        self, data: Operand, axes: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Upsample(
        self, X: Operand, scales: Operand, /, *, mode: Any = ..., outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Where(
        self, condition: Operand, X: Operand, Y: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...
    ) -> Array: ...
    def Xor(self, A: Operand, B: Operand, /, *, outputs: int = ..., types: Sequence[Type] | None = ...) -> Array: ...

op: Operators
