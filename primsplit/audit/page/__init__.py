"""Show a file as a page of HTML: the user's lines, the forward pass and the pullback side by side."""
