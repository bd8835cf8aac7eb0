"""What stands behind a traced array (`tracing.array`): operators, views, its text, and what only a run can tell."""
