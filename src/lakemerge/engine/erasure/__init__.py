"""Erasure: rows leave tables, their side data and all their versions, and files are searched for them."""
