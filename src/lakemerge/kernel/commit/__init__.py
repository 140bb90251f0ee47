"""A commit: what it read, what it changes, whether it is allowed, and how it ends."""
