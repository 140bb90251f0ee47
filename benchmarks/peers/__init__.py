"""Merges by lakemerge and by others, side by side."""
