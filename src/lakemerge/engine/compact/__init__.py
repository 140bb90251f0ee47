"""Compaction: rows of a table in fewer or better ordered files, by threshold or by hand, and its log."""
