"""Functions that are one op in a program: recorded once as a block, with a rule of their own if they have one."""
