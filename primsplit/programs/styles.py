"""List blocks and splits in a style: text, runnable Python, or a page of HTML."""

from collections.abc import Callable, Mapping, Sequence

from primsplit.ir import Block, Var
from primsplit.ir.errors import SpecError
from primsplit.ir.notation.listing import listing, names_of
from primsplit.ir.parts import Split
from primsplit.programs.doors import to_page
from primsplit.programs.python_text import to_python


def list_blocks(blocks: Sequence[Block], names: Mapping[Var, str], style: str) -> str:
    """Return blocks as text, Python or HTML, with the same names in all of them. Raises SpecError for another style."""
    given = names_of(*blocks, given=names).of
    texts = [listing(block, given, brief=True) for block in blocks]
    return _styled(
        style,
        text=lambda: "\n".join(texts),
        python=lambda: to_python(*blocks, names=names),
        html=lambda: to_page(blocks[0].name, texts),
    )


def list_split(split: Split, names: Mapping[Var, str], style: str) -> str:
    """Return a split in one of the styles: the primal, then the pullback with its captures."""
    blocks = (split.primal, split.pullback)
    return _styled(
        style,
        text=lambda: listing(split, names, brief=True),
        python=lambda: to_python(*blocks, names=names),
        html=lambda: to_page(split.primal.name, listing(split, names, brief=True).split("\n\n")),
    )


def _styled(style: str, **styles: Callable[[], str]) -> str:
    if style not in styles:
        raise SpecError(f"{style!r} is no style of listing", cure=f"The styles are {', '.join(styles)}.")
    return styles[style]()
