"""One attempt of a node to publish its rows: options, feed, staging, commit."""
