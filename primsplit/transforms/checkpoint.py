"""`checkpoint`: a function whose values the backward pass computes again, rather than keep them until then.

A checkpointed part is a call with a policy; checkpointed scans carry the same attribute. Its Split is two calls under
the policy, so that a second derivative keeps no more of it than the first.
"""

from collections.abc import Callable
from typing import Any

from primsplit.tracing.calls.primitive import Primitive
from primsplit.tracing.functionlike import remade
from primsplit.transforms.policies import Cheap, Policy, check_policy

Function = Callable[..., Any]


class Checkpointed(Primitive):
    """A call whose split is under a policy."""

    def __init__(self, function: Function, policy: Policy) -> None:
        check_policy(policy)
        super().__init__(function)
        self.policy: Policy = policy if isinstance(policy, str | Cheap) or callable(policy) else tuple(policy)

    def depends_on(self) -> tuple[Any, ...]:
        """Return what its behaviour depends on, the policy included."""
        return (*super().depends_on(), self.policy)

    def attributes(self, *args: Any) -> dict[str, Any]:
        """Return a call's attributes, with its policy."""
        return {**super().attributes(*args), "policy": self.policy}


def checkpoint(function: Function | None = None, *, policy: Policy = "nothing") -> Any:
    """`function`, of which the forward pass keeps what the policy says, by default nothing but its arguments.

    Other values that the gradient needs are recomputed in the backward pass. The policies are those of `ps.split`; here
    the results of the function are values like any other. May be used as a decorator, with or without a policy. Outside
    of a trace it is the plain function. Raises SpecError for another policy.

    >>> block = ps.checkpoint(lambda x: np.sin(np.exp(np.cos(x))))
    >>> program = ps.split(lambda x: np.sum(block(x)), ps.spec("float64", [100]))
    >>> [row["kind"] for row in program.capture_table()]
    ['input']
    """
    return (lambda given: _checkpointed(given, policy)) if function is None else _checkpointed(function, policy)


@remade
def _checkpointed(function: Function, policy: Policy) -> Checkpointed:
    return Checkpointed(function, policy)
