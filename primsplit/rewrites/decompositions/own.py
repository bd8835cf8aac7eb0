"""`decompose`: write an operator in others, where a runtime has no kernel for it or should not use its own."""

from collections.abc import Callable
from typing import Any

from primsplit.tracing.registering import check_kinds, check_takes_inputs, claim, module_of

Composition = Callable[..., Any]
DECOMPOSED: dict[tuple[str, str], Composition] = {}
"""By operator and the dtype of its first input, "" for all dtypes that have no kernel."""


def decompose(kind: str, *dtypes: str, replace: bool = False) -> Callable[[Composition], Composition]:
    """Register the operators that files hold in the place of an operator.

    What is decorated takes the operator's inputs by position (None for one that is left out) and its attributes by
    keyword, those with a default too. It returns the output, or a tuple of all outputs, of the same dtypes and shapes,
    and is written in NumPy or in other operators. With `dtypes`, as in "float64", it is used where the first input has
    one of them; without, where onnxruntime has no kernel for the dtypes at hand. Derivatives are taken before, so that
    they follow from the operator's own rule. Raises RuleError for a name that is no operator's, for a function of other
    arguments, and, unless `replace` is True, where another module has registered one.

    >>> @extend.decompose("HardSwish", "float32")
    ... def hard_swish(x):
    ...     return x * np.clip(x / 6.0 + 0.5, 0.0, 1.0)
    >>> model = ps.trace(extend.operator("HardSwish"), ps.spec("float32", [3])).to_onnx()
    >>> "HardSwish" in [node.op_type for node in model.graph.node]
    False
    """
    check_kinds(kind)

    def register(composition: Composition) -> Composition:
        check_takes_inputs(kind, composition, "decomposition")
        for dtype in dtypes or ("",):
            known = DECOMPOSED.get((kind, dtype))
            was = None if known is None else module_of(known)
            claim("decomposition", kind, was, module_of(composition), replace=replace)
            DECOMPOSED[kind, dtype] = composition
        return composition

    return register
