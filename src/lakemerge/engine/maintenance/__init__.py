"""Compaction of any table: what it needs, in which order, the log; and maintenance of many tables, one by one."""
