"""Partitions of sources, each processed once."""
