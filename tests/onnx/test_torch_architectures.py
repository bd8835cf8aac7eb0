"""Small architectures that PyTorch exports: value, and gradient by the input and by every parameter, equal torch's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.onnx.test_torch_exports import applied, compare, exported, prepared, torch

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


def selective_scan(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        decays, sources, reads = self.three(x).split([4, 2, 2], -1)
        steps = torch.nn.functional.softplus(decays)
        kept = torch.exp(-steps[..., None] * torch.exp(self.rates))
        added = (steps * x)[..., None] * sources[:, :, None]
        state, found = torch.zeros(x.shape[0], 4, 2, dtype=x.dtype), []
        for k in range(x.shape[1]):
            state = kept[:, k] * state + added[:, k]
            found.append((state * reads[:, k, None]).sum(-1))
        return torch.stack(found, 1) * torch.nn.functional.silu(x)

    rates = torch.nn.Parameter(torch.zeros(4, 2))
    return applied(torch, function, three=torch.nn.Linear(4, 8), rates=rates)


def routed_experts(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        shares = self.gate(x).softmax(-1)
        best, which = shares.topk(2, -1)
        weights = torch.zeros_like(shares).scatter(1, which, best / best.sum(-1, keepdim=True))
        hidden = torch.nn.functional.silu(torch.einsum("nd,edh->neh", x, self.wide))
        return (torch.einsum("neh,ehd->ned", hidden, self.narrow) * weights[..., None]).sum(1)

    wide, narrow = (torch.nn.Parameter(torch.zeros(3, *shape)) for shape in ((4, 6), (6, 4)))
    return applied(torch, function, gate=torch.nn.Linear(4, 3), wide=wide, narrow=narrow)


def rotary_block(torch: Any) -> Any:
    """Grouped queries, rotary positions, root mean squares, a gated layer."""

    def turned(self: Any, x: Any) -> Any:
        return x * self.cos.to(x.dtype) + torch.cat([-x[..., 1:], x[..., :1]], -1) * self.sin.to(x.dtype)

    def function(self: Any, x: Any) -> Any:
        functional = torch.nn.functional
        h = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        query, key, value = (layer(h).unflatten(-1, (-1, 2)).transpose(1, 2) for layer in self.three)
        keys, values = (part.repeat_interleave(2, 1) for part in (turned(self, key), value))
        mixed = functional.scaled_dot_product_attention(turned(self, query), keys, values, is_causal=True)
        x = x + self.one(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.silu(self.gate(x)) * self.up(x))

    nn, angles = torch.nn, torch.arange(4)[:, None] * torch.ones(2)
    return applied(
        torch,
        function,
        scale=nn.Parameter(torch.zeros(8)),
        three=nn.ModuleList([nn.Linear(8, width) for width in (8, 4, 4)]),
        one=nn.Linear(8, 8),
        gate=nn.Linear(8, 6),
        up=nn.Linear(8, 6),
        down=nn.Linear(6, 8),
        cos=angles.cos(),
        sin=angles.sin(),
    )


def spatial_transformer(torch: Any) -> Any:
    def function(self: Any, x: Any) -> Any:
        turn = torch.tanh(self.layer(x.flatten(1))).view(-1, 2, 3) / 4 + torch.eye(2, 3, dtype=x.dtype)
        grid = torch.nn.functional.affine_grid(turn, list(x.shape), align_corners=False)
        return self.after(torch.nn.functional.grid_sample(x, grid, align_corners=False, padding_mode="reflection"))

    return applied(torch, function, layer=torch.nn.Linear(16, 6), after=torch.nn.Conv2d(1, 2, 3))


ARCHITECTURES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "U-Net": (u_net, (2, 1, 4, 6)),
    "GPT block": (gpt_block, (2, 4, 8)),
    "vision transformer": (vision_transformer, (2, 1, 6, 6)),
    "inverted bottleneck": (inverted_bottleneck, (2, 4, 4, 4)),
    "autoencoder": (autoencoder, (4, 6)),
    "graph network": (graph_network, (4, 4)),
    "detection head": (detection_head, (2, 4, 3, 3)),
    "selective scan": (selective_scan, (2, 5, 4)),
    "routed experts": (routed_experts, (5, 4)),
    "rotary block": (rotary_block, (2, 4, 8)),
    "spatial transformer": (spatial_transformer, (2, 1, 4, 4)),
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
