"""A table as the kernel knows it: its definition, where its files lie, its manifests and its state."""
