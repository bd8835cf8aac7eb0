"""What is done once: what a function depends on, whether that is as it was, work shared by threads, and its counts."""
