"""A commit: what it read, what it changes, whether it may be, and its end."""
