"""Tables that keep history, by merges and by snapshots."""
