"""Compaction and vacuum of many tables by a Python program or a Python model, table by table."""
