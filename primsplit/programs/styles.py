"""List blocks and splits in a style: text, runnable Python, a page of HTML, or a fragment of HTML for notebooks."""

from collections.abc import Callable, Mapping, Sequence

from primsplit.ir import Block, Var
from primsplit.ir.errors import SpecError
from primsplit.ir.notation.listing import listing, names_of
from primsplit.ir.parts import Split
from primsplit.programs.doors import to_fragment, to_page
from primsplit.programs.python_text import to_python


def list_blocks(blocks: Sequence[Block], names: Mapping[Var, str], style: str) -> str:
    """Return blocks in a style, with the same names in all of them. Raises SpecError for another style."""
    given = names_of(*blocks, given=names).of
    texts = [listing(block, given, brief=True) for block in blocks]
    return _styled(
        style,
        text=lambda: "\n".join(texts),
        python=lambda: to_python(*blocks, names=names),
        html=lambda: to_page(blocks[0].name, texts),
        fragment=lambda: to_fragment(texts),
    )


def list_split(split: Split, names: Mapping[Var, str], style: str) -> str:
    """Return a split in one of the styles: the primal, then the pullback with its captures."""
    blocks = (split.primal, split.pullback)
    text = listing(split, names, brief=True)
    return _styled(
        style,
        text=lambda: text,
        python=lambda: to_python(*blocks, names=names),
        html=lambda: to_page(split.primal.name, text.split("\n\n")),
        fragment=lambda: to_fragment(text.split("\n\n")),
    )


def _styled(style: str, **styles: Callable[[], str]) -> str:
    if style not in styles:
        raise SpecError(f"{style!r} is no style of listing", cure=f"The styles are {', '.join(styles)}.")
    return styles[style]()
