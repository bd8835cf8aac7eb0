"""Models that PyTorch exports: value, and gradient by the input and by every parameter, equal torch's own."""

import logging
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps

Make = Callable[[Any], Any]
pytestmark = pytest.mark.slow  # torch takes a second or two to export a module


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    module = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    threads = module.get_num_threads()
    module.set_num_threads(1)
    logging.disable(logging.WARNING)
    yield module
    logging.disable(logging.NOTSET)
    module.set_num_threads(threads)


def applied(torch: Any, function: Callable[..., Any], **parts: Any) -> Any:
    """A module that runs `function(module, x)`, with these modules, parameters and tensors in it."""

    class Applied(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts.items():
                if isinstance(part, torch.Tensor) and not isinstance(part, torch.nn.Parameter):
                    self.register_buffer(name, part)
                else:
                    setattr(self, name, part)

        def forward(self, x: Any) -> Any:
            return function(self, x)

    return Applied()


def encoder(torch: Any, **more: Any) -> Any:
    return torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **more)


def attention(torch: Any) -> Any:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    return applied(torch, lambda self, x: self.layer(x, x, x, need_weights=False)[0], layer=layer)


def causal(torch: Any) -> Any:
    return applied(
        torch,
        lambda self, x: torch.nn.functional.scaled_dot_product_attention(x, x @ self.w, x, is_causal=True),
        w=torch.nn.Parameter(torch.eye(4)),
    )


def embedding(torch: Any) -> Any:
    ids = torch.tensor([[1, 2], [1, 6]])
    return applied(torch, lambda self, x: self.table(self.ids) * x, table=torch.nn.Embedding(7, 4), ids=ids)


def cross_entropy(torch: Any) -> Any:
    loss, labels = torch.nn.CrossEntropyLoss(), torch.tensor([1, 0, 3])
    return applied(torch, lambda self, x: loss(x, self.labels), labels=labels)


def recurrent(torch: Any, kind: str, *sizes: int, **more: Any) -> Any:
    return applied(torch, lambda self, x: self.layer(x)[0], layer=getattr(torch.nn, kind)(*sizes, **more))


def cosine(torch: Any) -> Any:
    return applied(torch, lambda _, x: torch.nn.functional.cosine_similarity(x[0], x[1], dim=-1))


def bilinear(torch: Any) -> Any:
    return applied(torch, lambda self, x: self.layer(x, x[:, :2]), layer=torch.nn.Bilinear(3, 2, 4))


MODULES: dict[str, tuple[Make, tuple[int, ...]]] = {
    "Linear": (lambda t: t.nn.Linear(3, 4), (2, 3)),
    "Bilinear": (bilinear, (2, 3)),
    "Conv1d": (lambda t: t.nn.Conv1d(3, 4, 3, stride=2, padding=1), (2, 3, 9)),
    "Conv2d in groups": (lambda t: t.nn.Conv2d(4, 6, 3, padding=1, dilation=2, groups=2), (2, 4, 6, 7)),
    "Conv2d same": (lambda t: t.nn.Conv2d(2, 3, 4, padding="same"), (2, 2, 6, 7)),
    "Conv3d": (lambda t: t.nn.Conv3d(2, 3, 2), (1, 2, 3, 4, 3)),
    "ConvTranspose2d": (lambda t: t.nn.ConvTranspose2d(3, 2, 3, 2, 1, output_padding=1), (2, 3, 4, 5)),
    "BatchNorm2d": (lambda t: t.nn.BatchNorm2d(3), (2, 3, 4, 5)),
    "LayerNorm": (lambda t: t.nn.LayerNorm(5), (2, 3, 5)),
    "GroupNorm": (lambda t: t.nn.GroupNorm(2, 4), (2, 4, 5, 3)),
    "InstanceNorm2d": (lambda t: t.nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 5)),
    "RMSNorm": (lambda t: t.nn.RMSNorm(5), (2, 3, 5)),
    "LocalResponseNorm": (lambda t: t.nn.LocalResponseNorm(3), (2, 6, 4, 5)),
    "Embedding": (embedding, (2, 2, 4)),
    "MultiheadAttention": (attention, (2, 5, 8)),
    "causal attention": (causal, (2, 2, 5, 4)),
    "TransformerEncoderLayer": (encoder, (2, 5, 8)),
    "TransformerEncoderLayer, norm first": (lambda t: encoder(t, activation="gelu", norm_first=True), (2, 5, 8)),
    "GELU": (lambda t: t.nn.GELU(), (3, 4)),
    "GELU by tanh": (lambda t: t.nn.GELU(approximate="tanh"), (3, 4)),
    "SiLU": (lambda t: t.nn.SiLU(), (3, 4)),
    "ELU": (lambda t: t.nn.ELU(0.5), (3, 4)),
    "SELU": (lambda t: t.nn.SELU(), (3, 4)),
    "CELU": (lambda t: t.nn.CELU(0.5), (3, 4)),
    "Softplus": (lambda t: t.nn.Softplus(2.0), (3, 4)),
    "Mish": (lambda t: t.nn.Mish(), (3, 4)),
    "Hardswish": (lambda t: t.nn.Hardswish(), (3, 4)),
    "PReLU": (lambda t: t.nn.PReLU(3), (2, 3, 4)),
    "LeakyReLU": (lambda t: t.nn.LeakyReLU(0.125), (3, 4)),
    "GLU": (lambda t: t.nn.GLU(), (3, 4)),
    "Softmax": (lambda t: t.nn.Softmax(-1), (3, 4)),
    "LogSoftmax": (lambda t: t.nn.LogSoftmax(1), (3, 4)),
    "MaxPool2d": (lambda t: t.nn.MaxPool2d(3, 2, padding=1, ceil_mode=True), (2, 3, 6, 7)),
    "AvgPool2d": (lambda t: t.nn.AvgPool2d(3, 2, 1, count_include_pad=False, ceil_mode=True), (2, 3, 6, 6)),
    "AdaptiveAvgPool2d": (lambda t: t.nn.AdaptiveAvgPool2d((2, 3)), (2, 3, 4, 6)),
    "AdaptiveMaxPool2d": (lambda t: t.nn.AdaptiveMaxPool2d((2, 3)), (2, 3, 4, 6)),
    "Upsample nearest": (lambda t: t.nn.Upsample(scale_factor=2), (2, 3, 4, 5)),
    "Upsample bilinear": (lambda t: t.nn.Upsample((7, 9), mode="bilinear", align_corners=True), (2, 3, 4, 5)),
    "Upsample bicubic": (lambda t: t.nn.Upsample(scale_factor=2, mode="bicubic"), (1, 2, 4, 5)),
    "PixelShuffle": (lambda t: t.nn.PixelShuffle(2), (2, 8, 3, 4)),
    "PixelUnshuffle": (lambda t: t.nn.PixelUnshuffle(2), (2, 2, 4, 6)),
    "ReflectionPad2d": (lambda t: t.nn.ReflectionPad2d(1), (2, 2, 4, 5)),
    "CircularPad2d": (lambda t: t.nn.CircularPad2d(1), (2, 2, 4, 5)),
    "Unfold": (lambda t: t.nn.Unfold(2), (2, 2, 4, 5)),
    "Fold": (lambda t: t.nn.Fold((4, 5), 2), (1, 8, 12)),
    "CosineSimilarity": (cosine, (2, 3, 4)),
    "CrossEntropyLoss": (cross_entropy, (3, 4)),
    "LSTM": (lambda t: recurrent(t, "LSTM", 3, 4, num_layers=2), (5, 2, 3)),
    "LSTM both ways": (lambda t: recurrent(t, "LSTM", 3, 4, bidirectional=True, batch_first=True), (2, 5, 3)),
    "GRU": (lambda t: recurrent(t, "GRU", 3, 4), (5, 2, 3)),
    "GRU both ways": (lambda t: recurrent(t, "GRU", 3, 4, bidirectional=True, batch_first=True), (2, 5, 3)),
    "RNN": (lambda t: recurrent(t, "RNN", 3, 4), (5, 2, 3)),
    "LSTMCell": (lambda t: recurrent(t, "LSTMCell", 3, 4), (2, 3)),
}


def by_scan(torch: Any) -> Any:
    from torch._higher_order_ops.scan import scan

    def function(self: Any, x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            new = torch.tanh(carry @ self.w + row)
            return new, new * row

        return scan(step, torch.zeros(3, dtype=x.dtype), x, dim=0)[1]

    return applied(torch, function, w=torch.nn.Parameter(torch.eye(3)))


def by_condition(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x, w: torch.tanh(x @ w), lambda x, w: (x * x) @ w, (x, self.w))

    return applied(torch, function, w=torch.nn.Parameter(torch.eye(3)))


def by_while(torch: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    def function(_: Any, x: Any) -> Any:
        start = torch.tensor(0), x
        return while_loop(lambda i, v: v.abs().sum() > 0.5, lambda i, v: (i + 1, 0.75 * torch.sin(v)), start)[1]

    return applied(torch, function)


def scripts(torch: Any) -> dict[str, Any]:
    """Modules whose Python loops and branches TorchScript compiles."""

    class For(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.eye(3))

        def forward(self, x):
            h = torch.zeros_like(x[0])
            for i in range(x.shape[0]):
                h = torch.tanh(h @ self.w + x[i])
            return h

    class While(For):
        def forward(self, x):
            h = x.sum(0)
            while bool(h.abs().sum() > 0.5):
                h = torch.tanh(h @ self.w) * 0.75
            return h

    class If(For):
        def forward(self, x):
            h = (x * x) @ self.w
            if bool(x.sum() > 0):
                h = torch.tanh(x @ self.w)
            return h

    return {"for": For, "while": While, "if": If}


def prepared(torch: Any, module: Any, dtype: Any) -> Any:
    """The module with drawn parameters, as it is used."""
    torch.manual_seed(3)
    module = module.to(dtype).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, dtype=dtype))
    return module


def exported(torch: Any, module: Any, x: Any, path: Path, **more: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), str(path), verbose=False, **more)
    return str(path)


def compare(torch: Any, module: Any, path: str, points: list[Any], tolerance: float, *, params: bool = True) -> None:
    """The file's value and gradients at some inputs, beside torch's."""
    program = ps.load(path)
    named = dict(module.named_parameters()) if params else {}
    assert set(named) <= set(program.params)
    made = ps.split(program, wrt=[program.inputs[0], *named])
    joint = made.joint()
    for point in points:
        x = point.detach().requires_grad_()
        y = module(x)
        seed = torch.cos(torch.arange(y.numel(), dtype=y.dtype)).reshape(y.shape)
        wanted = torch.autograd.grad(y, [x, *named.values()], seed, allow_unused=True)
        feeds = {program.inputs[0]: x, **named, **dict.fromkeys(made.cotangent_names, seed)}
        found = dict(zip(joint.outputs, joint(*(feeds[n].detach().numpy() for n in joint.inputs)), strict=True))
        scale = max(1.0, *(float(w.abs().max()) for w in wanted if w is not None))
        np.testing.assert_allclose(found[joint.outputs[0]], y.detach().numpy(), rtol=tolerance, atol=tolerance)
        for name, gradient in zip([program.inputs[0], *named], wanted, strict=True):
            expected = np.zeros(feeds[name].shape) if gradient is None else gradient.numpy()
            np.testing.assert_allclose(found[f"d_{name}"], expected, rtol=0, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("name", MODULES)
def test_the_gradient_of_an_exported_module_is_torchs(name: str, tmp_path: Path, torch: Any) -> None:
    """Torch writes attributes in float32: what reads one is right to eight digits."""
    make, shape = MODULES[name]
    module = prepared(torch, make(torch), torch.float64)
    x = torch.randn(shape, dtype=torch.float64)
    path = exported(torch, module, x, tmp_path / "module.onnx", dynamo=True, optimize=False)
    compare(torch, module, path, [x, 0.5 * x - 0.25], 1e-7)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_exported_as_people_do_it_has_torchs_gradient(name: str, tmp_path: Path, torch: Any) -> None:
    """In float32, with the exporter's own optimizations, which fold some of the parameters away."""
    make, shape = MODULES[name]
    module = prepared(torch, make(torch), torch.float32)
    x = torch.randn(shape)
    path = exported(torch, module, x, tmp_path / "module.onnx", dynamo=True)
    compare(torch, module, path, [x], 1e-4, params=False)


@pytest.mark.parametrize(("make", "factors"), [(by_scan, ()), (by_condition, (-1.0,)), (by_while, (0.5,))])
def test_the_gradient_of_an_exported_loop_or_branch_is_torchs(
    make: Make, factors: Any, tmp_path: Path, torch: Any
) -> None:
    module = prepared(torch, make(torch), torch.float64)
    x = torch.randn(4, 3, dtype=torch.float64)
    rows = {0: torch.export.Dim("rows")}
    path = exported(torch, module, x, tmp_path / "l.onnx", dynamo=True, optimize=False, dynamic_shapes={"x": rows})
    compare(torch, module, path, [x, x.repeat(2, 1), *(factor * x for factor in factors)], 1e-10)


@pytest.mark.parametrize("name", ["for", "while", "if"])
def test_the_gradient_of_a_script_is_torchs(name: str, tmp_path: Path, torch: Any) -> None:
    module = prepared(torch, torch.jit.script(scripts(torch)[name]()), torch.float64)
    x = torch.randn(4, 3, dtype=torch.float64)
    axes = {"dynamic_axes": {"x": {0: "rows"}}, "input_names": ["x"], "opset_version": 17}
    path = exported(torch, module, x, tmp_path / "s.onnx", dynamo=False, **axes)
    compare(torch, module, path, [x, -x, x[:1], torch.cat([x, x])], 1e-10)
