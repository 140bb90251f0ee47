"""Tables as they were at one moment, for Python programs."""
