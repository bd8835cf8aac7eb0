"""A program as text and back: the listing that people read and its parser; and a program as JSON values and back."""
