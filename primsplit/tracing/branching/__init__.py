"""Record Python branches on traced values: every path of a function is recorded, and the paths become a tree of Ifs."""
