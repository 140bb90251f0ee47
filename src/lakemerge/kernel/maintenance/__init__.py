"""What is done to a table's versions besides making them: history, vacuum, drop, pins, compaction."""
