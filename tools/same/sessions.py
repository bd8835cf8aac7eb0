"""Keep every model that onnxruntime is given: what a program runs is seen whatever modules it went through."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import onnxruntime


@contextlib.contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """While this is open, the models of sessions are written into a folder, in their order."""
    load, count = onnxruntime.InferenceSession.__init__, 0

    def loaded(session: Any, model: Any, *args: Any, **named: Any) -> None:
        nonlocal count
        folder.mkdir(parents=True, exist_ok=True)
        data = model if isinstance(model, bytes) else Path(model).read_bytes()
        (folder / f"session_{count:03}.onnx").write_bytes(data)
        count += 1
        load(session, model, *args, **named)

    with mock.patch.object(onnxruntime.InferenceSession, "__init__", loaded):
        yield
