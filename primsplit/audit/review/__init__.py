"""Compare two files statement by statement, for the review of a change."""
