"""What is done to a table outside its model's run: history, recovery, vacuum, drop, columns."""
