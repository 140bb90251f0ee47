"""Versions that people use: read as they were, named, compared, and brought back."""
