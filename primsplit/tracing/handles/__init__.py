"""The parts of a traced array (`tracing.array`): operators, views, its text, and errors for what only a run knows."""
