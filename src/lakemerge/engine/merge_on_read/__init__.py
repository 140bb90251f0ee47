"""Tables that readers read through a view: the view, the deltas beside the base, and how these move into the base."""
