"""What stands behind a traced array (`primsplit.array`): operators, views, its text, and what only a run can tell."""
