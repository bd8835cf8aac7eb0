"""The styles of a listing: text, runnable Python, and a page of HTML."""

from collections.abc import Callable, Mapping, Sequence

from primsplit.audit.python import to_python
from primsplit.doors import to_page
from primsplit.errors import SpecError
from primsplit.ir import Block, Var
from primsplit.listing import listing
from primsplit.parts import Split


def list_block(block: Block, inputs: Sequence[str], style: str) -> str:
    """A block as text, Python or HTML. Raises SpecError for another style."""
    names = dict(zip(block.params, inputs, strict=True))
    return _styled(
        style,
        text=lambda: listing(block, names),
        python=lambda: to_python(block, names),
        html=lambda: to_page(block.name, [listing(block, names)]),
    )


def list_split(split: Split, names: Mapping[Var, str], style: str) -> str:
    """A split in one of the styles: the primal, then the pullback with what it captures."""
    blocks = (split.primal, split.pullback)
    return _styled(
        style,
        text=lambda: listing(split, names),
        python=lambda: "\n\n".join(to_python(b, names) for b in blocks),
        html=lambda: to_page(split.primal.name, listing(split, names).split("\n\n")),
    )


def _styled(style: str, **styles: Callable[[], str]) -> str:
    if style not in styles:
        raise SpecError(f"{style!r} is no style of listing", cure=f"The styles are {', '.join(styles)}.")
    return styles[style]()
