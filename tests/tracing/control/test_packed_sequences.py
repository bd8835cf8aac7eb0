"""PyTorch's recurrent layers over sequences of several lengths: value and gradients of the export beside torch's."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps

pytestmark = pytest.mark.slow  # torch takes a second or two to export a module
STEPS, SIZE, HIDDEN = 5, 3, 4


def packed(torch: Any, kind: str, **more: Any) -> Any:
    """A layer of this kind that reads the padded rows of each sequence no further than its length."""
    pack, pad = torch.nn.utils.rnn.pack_padded_sequence, torch.nn.utils.rnn.pad_packed_sequence

    class Packed(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = getattr(torch.nn, kind)(SIZE, HIDDEN, batch_first=True, **more)

        def forward(self, x: Any, lengths: Any) -> Any:
            rows, last = self.layer(pack(x, lengths, batch_first=True))
            whole, _ = pad(rows, batch_first=True)
            return whole, (last[0] if kind == "LSTM" else last)

    torch.manual_seed(1)
    return Packed().double().eval()


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("LSTM", {}),
        ("LSTM", {"num_layers": 2, "bidirectional": True}),
        ("GRU", {}),
        ("GRU", {"num_layers": 2, "bidirectional": True}),
    ],
    ids=["LSTM", "LSTM, 2 layers both ways", "GRU", "GRU, 2 layers both ways"],
)
def test_a_packed_layer_has_torchs_gradient_at_every_length(kind, more, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    module, path = packed(torch, kind, **more), tmp_path / "packed.onnx"
    x, lengths = torch.randn(3, STEPS, SIZE, dtype=torch.float64), torch.tensor([STEPS, 3, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (x, lengths),
            str(path),
            dynamo=False,
            do_constant_folding=False,
            input_names=["x", "lengths"],
            output_names=["y", "h"],
            dynamic_axes={"x": {0: "batch", 1: "steps"}, "lengths": {0: "batch"}},
        )
    names = [n for n, _ in module.named_parameters()]
    program = ps.load(str(path))
    made = ps.split(program, wrt=["x", *(n for n in names if n in program.params)])
    joint = made.joint()
    for size, some in ((STEPS, [5, 3, 1]), (7, [7, 7]), (2, [2])):
        point = torch.randn(len(some), size, SIZE, dtype=torch.float64, requires_grad=True)
        results = module(point, torch.tensor(some))
        seeds = [torch.cos(torch.arange(r.numel(), dtype=r.dtype)).reshape(r.shape) for r in results]
        wanted = torch.autograd.grad(results, [point, *module.parameters()], seeds)
        feeds = {"x": point, "lengths": torch.tensor(some), **dict(zip(made.cotangent_names, seeds, strict=True))}
        feeds |= dict(module.named_parameters())
        given = (np.asarray(feeds[n].detach().numpy()) for n in joint.inputs)
        found = dict(zip(joint.outputs, joint(*given), strict=True))
        for name, result in zip(("y", "h"), results, strict=True):
            np.testing.assert_allclose(found[name], result.detach().numpy(), rtol=1e-9, atol=1e-11)
        for name, gradient in zip(("x", *names), wanted, strict=True):
            np.testing.assert_allclose(found[f"d_{name}"], gradient.numpy(), rtol=1e-8, atol=1e-10)
