"""What other programs do to a table: found, and taken in as versions."""
