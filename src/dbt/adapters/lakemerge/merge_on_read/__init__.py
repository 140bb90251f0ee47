"""Tables that readers read through a view: the view, the deltas beside the base, and their way into it."""
