"""How a node's rows are published: the feed, attempts, staging, commit."""
