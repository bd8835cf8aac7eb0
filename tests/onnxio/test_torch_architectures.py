"""Small architectures that PyTorch exports: value, and gradient by the input and by every parameter, equal torch's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.onnxio.test_torch_exports import applied, compare, exported, prepared, torch

__all__ = ["torch"]
pytestmark = pytest.mark.slow  # torch takes a second or two to export a module


def two_convolutions(torch: Any, source: int, target: int) -> Any:
    nn = torch.nn
    first, second = nn.Conv2d(source, target, 3, padding=1), nn.Conv2d(target, target, 3, padding=1)
    return nn.Sequential(first, nn.BatchNorm2d(target), nn.ReLU(), second, nn.ReLU())


def u_net(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        high = self.down(x)
        low = self.low(torch.nn.functional.max_pool2d(high, 2))
        return self.last(self.up(torch.cat([self.longer(low), high], 1)))

    return applied(
        torch,
        function,
        down=two_convolutions(torch, 1, 3),
        low=two_convolutions(torch, 3, 6),
        longer=torch.nn.ConvTranspose2d(6, 3, 2, 2),
        up=two_convolutions(torch, 6, 3),
        last=torch.nn.Conv2d(3, 2, 1),
    )


def gpt_block(torch: Any) -> Any:
    def attended(self: Any, x: Any) -> Any:
        batch, steps, width = x.shape
        parts = (part.view(batch, steps, 2, width // 2).transpose(1, 2) for part in self.three(x).split(width, 2))
        query, key, value = parts
        scores = query @ key.transpose(-2, -1) / (width // 2) ** 0.5
        scores = scores.masked_fill(torch.tril(torch.ones(steps, steps)) == 0, float("-inf"))
        return self.one((torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(batch, steps, width))

    def function(self: Any, x: Any) -> Any:
        x = x + attended(self, self.before(x))
        return x + self.wide(self.between(x))

    nn = torch.nn
    return applied(
        torch,
        function,
        three=nn.Linear(8, 24),
        one=nn.Linear(8, 8),
        before=nn.LayerNorm(8),
        between=nn.LayerNorm(8),
        wide=nn.Sequential(nn.Linear(8, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 8)),
    )


def vision_transformer(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        told = torch.cat([self.first.expand(patches.shape[0], -1, -1), patches], 1) + self.places
        return self.head(self.layer(told)[:, 0])

    nn = torch.nn
    return applied(
        torch,
        function,
        patches=nn.Conv2d(1, 8, 2, 2),
        first=nn.Parameter(torch.zeros(1, 1, 8)),
        places=nn.Parameter(torch.zeros(1, 10, 8)),
        layer=nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True, norm_first=True),
        head=nn.Linear(8, 3),
    )


def inverted_bottleneck(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        wide = self.wide(x)
        gate = self.gate(torch.nn.functional.adaptive_avg_pool2d(wide, 1))
        return x + self.narrow(wide * torch.nn.functional.hardsigmoid(gate))

    nn = torch.nn
    depthwise = nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False)
    return applied(
        torch,
        function,
        wide=nn.Sequential(nn.Conv2d(4, 12, 1), nn.BatchNorm2d(12), nn.Hardswish(), depthwise, nn.ReLU6()),
        gate=nn.Sequential(nn.Conv2d(12, 2, 1), nn.ReLU(), nn.Conv2d(2, 12, 1)),
        narrow=nn.Sequential(nn.Conv2d(12, 4, 1, bias=False), nn.BatchNorm2d(4)),
    )


def autoencoder(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        hidden = torch.tanh(self.encode(x))
        mean, spread = self.mean(hidden), self.spread(hidden)
        lost = self.decode(mean + torch.exp(0.5 * spread) * self.noise) - x
        return (lost**2).sum(1) - 0.5 * (1 + spread - mean**2 - spread.exp()).sum(1)

    nn = torch.nn
    return applied(
        torch,
        function,
        encode=nn.Linear(6, 8),
        mean=nn.Linear(8, 3),
        spread=nn.Linear(8, 3),
        decode=nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 6)),
        noise=torch.tensor([[0.5, -1.0, 0.25]]),
    )


def graph_network(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        messages = torch.tanh(self.layer(torch.cat([x[self.source], x[self.target]], 1)))
        places = self.target[:, None].expand(-1, 5)
        return torch.zeros(x.shape[0], 5, dtype=x.dtype).scatter_add(0, places, messages)

    ends = {"source": torch.tensor([0, 1, 2, 0, 3, 1]), "target": torch.tensor([1, 2, 0, 3, 1, 1])}
    return applied(torch, function, layer=torch.nn.Linear(8, 5), **ends)


def detection_head(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        scores = self.classes(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3).sigmoid()
        moved = self.boxes(x).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4)
        sizes = self.anchors[:, 2:] * torch.exp(moved[..., 2:].clamp(max=4.0))
        centres = self.anchors[:, :2] + moved[..., :2] * self.anchors[:, 2:]
        corners = torch.cat([centres - sizes / 2, centres + sizes / 2], -1).clamp(-3, 3)
        return torch.cat([corners * scores.max(-1, keepdim=True).values, scores], -1)

    anchors = torch.linspace(0.2, 1.4, 72).reshape(18, 4)
    convolutions = {"classes": torch.nn.Conv2d(4, 6, 3, padding=1), "boxes": torch.nn.Conv2d(4, 8, 3, padding=1)}
    return applied(torch, function, anchors=anchors, **convolutions)


ARCHITECTURES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "U-Net": (u_net, (2, 1, 4, 6)),
    "GPT block": (gpt_block, (2, 4, 8)),
    "vision transformer": (vision_transformer, (2, 1, 6, 6)),
    "inverted bottleneck": (inverted_bottleneck, (2, 4, 4, 4)),
    "autoencoder": (autoencoder, (4, 6)),
    "graph network": (graph_network, (4, 4)),
    "detection head": (detection_head, (2, 4, 3, 3)),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_gradient_of_an_architecture_is_torchs_for_any_batch(name: str, tmp_path: Path, torch: Any) -> None:
    make, shape = ARCHITECTURES[name]
    module = prepared(torch, make(torch), torch.float64)
    x = torch.randn(shape, dtype=torch.float64)
    more = {} if name == "graph network" else {"dynamic_shapes": {"x": {0: torch.export.Dim("rows")}}}
    path = exported(torch, module, x, tmp_path / "module.onnx", dynamo=True, optimize=False, **more)
    points = [x, 0.5 * x] if name == "graph network" else [x, torch.cat([x, 0.5 * x])]
    compare(torch, module, path, points, 1e-7)
