"""An object that stands for an array, for several tests."""

from typing import Any


class Holder:
        value: Any = None

    def loss(x: Any) -> Any:
        holder = Holder()
        holder.value = x

        def by_default(y: Any, k: Any = x) -> Any:
            return y * k

        def by_attribute(y: Any) -> Any:
            return y * holder.value

        kept = [x]
        return (
            ps.grad(by_default)(2.0) * 1.0
            + ps.grad(by_attribute)(2.0) * 10.0
            + ps.grad(lambda y: y * kept[0])(2.0) * 100.0
            + ps.grad(lambda y: y * x)(2.0) * 1000.0
        )

    assert ps.grad(loss)(3.0) == 1111.0
