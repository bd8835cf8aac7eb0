"""A program as text and back: the listing that people read, its words, its inverse; and as JSON values."""
