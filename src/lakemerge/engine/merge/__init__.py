"""Merges from a change feed: the plan, the order of changes, and the ledger."""
