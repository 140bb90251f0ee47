"""Partitions and changes of sources, each processed once."""
