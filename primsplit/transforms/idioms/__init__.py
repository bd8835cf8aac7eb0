"""What is recognized in a program as its author wrote it, before it is differentiated."""
