"""Write the statements of a file as mathematics: infix, in the user's names, without what only moves shapes."""
