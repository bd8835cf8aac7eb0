"""Rebuilds a program from its Python listing."""

from collections.abc import Mapping
from typing import Any

from primsplit.ir import Block
from primsplit.programs.trace_program import trace_program
from primsplit.tracing.specs import specs_from_annotations


def run_source(source: str, constants: Mapping[str, Any] | None = None) -> Block:
    """The block described by a source that `to_python` wrote. The source is executed, so it must be trusted."""
    namespace: dict[str, Any] = {"constants": dict(constants or {})}
    exec(compile(source, "<listing>", "exec"), namespace)  # noqa: S102  # that is what it is for
    function = next(v for v in reversed(namespace.values()) if callable(v))
    return trace_program(function, specs_from_annotations(function), {}).block
